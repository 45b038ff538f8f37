#include "server/source/core/content_digest.h"

#include <algorithm>
#include <vector>

#include "common/base/units.h"

namespace penstock::source {
namespace {

constexpr uint64_t kPieceOfContent = 64 * base::kMiB;
constexpr uint64_t kReadAtOnce = base::kMiB;
constexpr uint64_t kPiecesAtOnce = 4096;  // their sums are kept until they can be added in order

}  // namespace

uint64_t PiecesOf(uint64_t bytes) { return (bytes + kPieceOfContent - 1) / kPieceOfContent; }

absl::Status AddPiece(uint64_t bytes, uint64_t piece,
                      const std::function<absl::Status(uint64_t, std::span<std::byte>)>& read,
                      Sha256& sum) {
  const uint64_t begin = piece * kPieceOfContent;
  const uint64_t end = std::min(bytes, begin + kPieceOfContent);
  sum.Add(begin);
  sum.Add(end - begin);
  std::vector<std::byte> block(std::min(kReadAtOnce, end - begin));
  for (uint64_t at = begin; at < end;) {
    const std::span<std::byte> into = std::span(block).first(std::min(kReadAtOnce, end - at));
    PENSTOCK_RETURN_IF_ERROR(read(at, into));
    sum.AddBytes(into);
    at += into.size();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ContentDigest(const Dataset& dataset, const ParallelFor& parallel_for) {
  const uint64_t pieces = dataset.content_pieces();
  Sha256 all;
  all.Add("penstock content 1");
  all.Add(dataset.kind());
  all.Add(dataset.digest());
  all.Add(pieces);
  std::vector<Sha256::Sum> sums;
  for (uint64_t first = 0; first < pieces; first += kPiecesAtOnce) {
    sums.resize(std::min(kPiecesAtOnce, pieces - first));
    PENSTOCK_RETURN_IF_ERROR(parallel_for.ForEach(sums.size(), [&](size_t i) {
      Sha256 sum;
      PENSTOCK_RETURN_IF_ERROR(dataset.AddContent(first + i, sum));
      sums[i] = sum.Finish();
      return absl::OkStatus();
    }));
    for (const Sha256::Sum& sum : sums) all.AddBytes(sum);
  }
  return ToHex(all.Finish());
}

}  // namespace penstock::source
