#include "server/indexer/process_parsers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "server/indexer/wire/checks.h"
#include "server/indexer/wire/results.h"

namespace penstock::indexer {
namespace {

using source::ForeignFile;
using source::ScanWatch;

// A process for the time of one call, or of a content that is being unpacked.
class Lease {
 public:
  Lease(std::shared_ptr<Indexers> indexers, uint64_t owner)
      : indexers_(std::move(indexers)), owner_(owner) {}
  ~Lease() {
    if (process_ != nullptr) indexers_->GiveBack(owner_, std::move(process_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Asks, and takes a result: what `take` makes of the answer, once `check` has approved it.
  template <typename Result>
  absl::StatusOr<Result> Ask(const Question& question, const ScanWatch& watch,
                             const std::function<absl::StatusOr<Result>(AnswerSource&)>& take,
                             const std::function<absl::Status(const Result&)>& check) {
    if (process_ == nullptr) {
      PENSTOCK_ASSIGN_OR_RETURN(process_, indexers_->Get(owner_, watch));
    }
    PENSTOCK_RETURN_IF_ERROR(process_->Begin(question, watch, indexers_->closing()));
    absl::Status outcome;
    PENSTOCK_RETURN_IF_ERROR(TakeOutcome(*process_, outcome));
    if (!outcome.ok()) {
      PENSTOCK_RETURN_IF_ERROR(process_->End());
      return outcome;
    }
    PENSTOCK_ASSIGN_OR_RETURN(Result result, take(*process_));
    PENSTOCK_RETURN_IF_ERROR(check(result));  // a process that lies is ended, as it is not idle
    PENSTOCK_RETURN_IF_ERROR(process_->End());
    return result;
  }

 private:
  const std::shared_ptr<Indexers> indexers_;
  const uint64_t owner_;
  std::unique_ptr<IndexerProcess> process_;
};

template <typename Result>
absl::Status Any(const Result&) {
  return absl::OkStatus();
}

// The bytes that a process unpacks, fetched as they are asked for.
class UnpackedThere final : public source::UnpackedFile {
 public:
  explicit UnpackedThere(std::unique_ptr<Lease> lease) : lease_(std::move(lease)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    size_t filled = 0;
    while (filled < into.size()) {
      const size_t asked = std::min(into.size() - filled, kWindowBytes / 2);
      PENSTOCK_ASSIGN_OR_RETURN(const size_t got, ReadSome(into.subspan(filled, asked)));
      filled += got;
      if (got < asked) break;
    }
    return filled;
  }

 private:
  absl::StatusOr<size_t> ReadSome(std::span<std::byte> into) {
    const auto take = [&](AnswerSource& source) -> absl::StatusOr<uint64_t> {
      uint64_t got = 0;
      PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, got));
      if (got > into.size()) return Lie("more bytes than were asked for");
      PENSTOCK_RETURN_IF_ERROR(source.Take(into.first(got)));
      return got;
    };
    return lease_->Ask<uint64_t>({.ask = {.task = Task::kUnpack, .offset = into.size()}}, kNoWatch,
                                 take, Any<uint64_t>);
  }

  static inline const ScanWatch kNoWatch = {};
  std::unique_ptr<Lease> lease_;
};

class ProcessParsers final : public source::Parsers {
 public:
  ProcessParsers(std::shared_ptr<Indexers> indexers, uint64_t owner)
      : indexers_(std::move(indexers)), owner_(owner) {}
  ~ProcessParsers() override { indexers_->Forget(owner_); }

  absl::StatusOr<source::ScannedShard> ScanTar(const ForeignFile& shard, const ForeignFile* index,
                                               const source::TarWanted& wanted,
                                               const ScanWatch& watch) override {
    return Scan({.ask = {.task = Task::kScanTar},
                 .file = &shard,
                 .second = index,
                 .sends_second = index != nullptr,
                 .image = wanted.image,
                 .label = wanted.label},
                watch, CheckTar);
  }

  absl::StatusOr<source::ScannedShard> ScanRecords(const ForeignFile& file,
                                                   const source::RecordRoles& roles,
                                                   const ScanWatch& watch) override {
    return Scan({.ask = {.task = Task::kScanRecords},
                 .file = &file,
                 .image = roles.image,
                 .label = roles.label},
                watch, CheckRecords);
  }

  absl::StatusOr<std::string> TarKey(const ForeignFile& shard, uint64_t from,
                                     uint64_t offset) override {
    return Ask<std::string>(
        {.ask = {.task = Task::kTarKey, .from = from, .offset = offset}, .file = &shard}, TakeText,
        Any<std::string>);
  }

  absl::StatusOr<source::NpyHeader> ReadNpy(const ForeignFile& file) override {
    return Ask<source::NpyHeader>({.ask = {.task = Task::kNpy}, .file = &file}, TakeNpy, CheckNpy);
  }

  absl::StatusOr<source::FoundTokens> ReadTokens(const ForeignFile& file,
                                                 source::TokenFormat format,
                                                 base::DType raw_type) override {
    return Ask<source::FoundTokens>({.ask = {.task = Task::kTokens,
                                             .format = static_cast<uint32_t>(format),
                                             .type = static_cast<uint32_t>(raw_type)},
                                     .file = &file},
                                    TakeTokens, [&](const source::FoundTokens& found) {
                                      return CheckTokens(found, format, file.bytes);
                                    });
  }

  absl::StatusOr<source::MegatronPieces> ReadMegatron(const ForeignFile& index,
                                                      const ForeignFile& bin) override {
    return Ask<source::MegatronPieces>(
        {.ask = {.task = Task::kMegatron}, .file = &index, .second = &bin},
        [&](AnswerSource& source) { return TakeMegatron(source, index.bytes); },
        [&](const source::MegatronPieces& pieces) { return CheckMegatron(pieces, bin.bytes); });
  }

  absl::StatusOr<source::IdxContent> ReadIdx(const ForeignFile& file,
                                             source::IdxRole role) override {
    auto lease = std::make_unique<Lease>(indexers_, owner_);
    PENSTOCK_ASSIGN_OR_RETURN(
        const IdxAnswer answer,
        lease->Ask<IdxAnswer>(
            {.ask = {.task = Task::kIdx, .role = static_cast<uint32_t>(role)}, .file = &file},
            no_watch_, TakeIdx, [&](const IdxAnswer& each) { return CheckIdx(each, role); }));
    source::IdxContent content = {.header = answer.header};
    if (answer.packed) content.items = std::make_unique<UnpackedThere>(std::move(lease));
    return content;
  }

 private:
  template <typename Result>
  absl::StatusOr<Result> Ask(const Question& question,
                             const std::function<absl::StatusOr<Result>(AnswerSource&)>& take,
                             const std::function<absl::Status(const Result&)>& check) {
    return Lease(indexers_, owner_).Ask<Result>(question, no_watch_, take, check);
  }

  absl::StatusOr<source::ScannedShard> Scan(const Question& question, const ScanWatch& watch,
                                            absl::Status (*check)(const source::ScannedShard&,
                                                                  uint64_t)) {
    const uint64_t bytes = question.file->bytes;
    return Lease(indexers_, owner_)
        .Ask<source::ScannedShard>(
            question, watch, [&](AnswerSource& source) { return TakeScanned(source, bytes); },
            [&](const source::ScannedShard& scanned) { return check(scanned, bytes); });
  }

  const std::shared_ptr<Indexers> indexers_;
  const uint64_t owner_;
  const ScanWatch no_watch_ = {};
};

}  // namespace

std::shared_ptr<source::Parsers> MakeProcessParsers(std::shared_ptr<Indexers> indexers,
                                                    uint64_t owner) {
  return std::make_shared<ProcessParsers>(std::move(indexers), owner);
}

}  // namespace penstock::indexer
