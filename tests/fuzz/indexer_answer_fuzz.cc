// Arbitrary bytes as an indexer's answer: whatever the daemon accepts must fit into a file of that
// size.
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "server/indexer/wire/annotations.h"
#include "server/indexer/wire/checks.h"
#include "server/indexer/wire/results.h"

using namespace penstock;
using namespace penstock::indexer;

namespace {

constexpr uint64_t kFileBytes = 1 << 20;

class Bytes final : public AnswerSource {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : left_(bytes) {}
  absl::Status Take(std::span<std::byte> into) override {
    if (into.size() > left_.size()) return Lie("less than it promised");
    if (!into.empty()) std::memcpy(into.data(), left_.data(), into.size());
    left_ = left_.subspan(into.size());
    return absl::OkStatus();
  }

 private:
  std::span<const std::byte> left_;
};

// Counts, so that what is taken is bounded by what arrives.
class Counted final : public AnswerMemory {
 public:
  absl::Status Take(uint64_t bytes) override {
    taken_ += bytes;
    PENSTOCK_CHECK(taken_ <= uint64_t{1} << 30);
    return absl::OkStatus();
  }
  void GiveBack(uint64_t bytes) override {
    PENSTOCK_CHECK(bytes <= taken_);
    taken_ -= bytes;
  }

 private:
  uint64_t taken_ = 0;
};

void CheckShard(const source::ScannedShard& shard) {
  uint64_t next = 0;
  for (const source::ShardSample& sample : shard.samples) {
    PENSTOCK_CHECK(sample.place >= next && sample.place < shard.members.size());
    next = sample.place + 1;
  }
  for (const source::ShardMember& member : shard.members) {
    PENSTOCK_CHECK(member.extension < shard.extensions.size());
    PENSTOCK_CHECK(uint64_t{member.block} * 512 + member.bytes <= kFileBytes);
  }
}

// `notes`: as in TakeAnnotations.
void CheckObjects(std::span<const std::byte> answer, uint64_t notes) {
  Bytes bytes(answer);
  Counted memory;
  const auto all = TakeAnnotations(bytes, kFileBytes, notes, memory);
  if (!all.ok() || !CheckAnnotations(*all, notes).ok()) return;
  for (const source::ObjectColumn& column : all->columns)
    PENSTOCK_CHECK(column.values.size() ==
                   all->objects() * source::BytesOf(column.what, all->points));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto all = std::as_bytes(std::span(data, size));
  absl::Status outcome;
  if (Bytes bytes(all); TakeOutcome(bytes, outcome).ok())
    PENSTOCK_CHECK(outcome.message().size() <= 4 * kMostTextBytes);
  Bytes shard(all);
  Counted memory;
  const auto scanned = TakeScanned(shard, kFileBytes, memory);
  if (scanned.ok() && CheckTar(*scanned, kFileBytes).ok()) CheckShard(*scanned);
  if (scanned.ok()) (void)CheckRecords(*scanned, kFileBytes);
  CheckObjects(all, 0);
  CheckObjects(all, 1);
  Bytes npy(all), tokens(all), idx(all), megatron(all);
  if (const auto header = TakeNpy(npy); header.ok()) (void)CheckNpy(*header);
  if (const auto found = TakeTokens(tokens);
      found.ok() && CheckTokens(*found, source::TokenFormat::kAuto, kFileBytes).ok())
    PENSTOCK_CHECK(found->extent.offset + found->extent.bytes() <= kFileBytes);
  if (const auto answer = TakeIdx(idx); answer.ok())
    (void)CheckIdx(*answer, source::IdxRole::kImages);
  if (const auto pieces = TakeMegatron(megatron, kFileBytes, memory);
      pieces.ok() && CheckMegatron(*pieces, kFileBytes).ok())
    for (const source::MegatronPiece& piece : pieces->pieces)
      PENSTOCK_CHECK(piece.byte <= kFileBytes && piece.tokens <= kFileBytes);
  return 0;
}
