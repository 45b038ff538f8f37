#include "server/indexer/process_parsers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "server/indexer/wire/annotations.h"
#include "server/indexer/wire/checks.h"
#include "server/indexer/wire/cifar.h"
#include "server/indexer/wire/lists.h"
#include "server/indexer/wire/results.h"
#include "server/source/files/index_memory.h"

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

// The memory of one opening, for the answers about one of its files. It stays counted, because the
// opener keeps what is found in all shards until it has built the manifest.
class FilesMemory final : public AnswerMemory {
 public:
  FilesMemory(source::IndexMemory& memory, const std::string& path)
      : memory_(memory), path_(path) {}
  absl::Status Take(uint64_t bytes) override { return memory_.Take(bytes, path_); }
  void GiveBack(uint64_t bytes) override { memory_.GiveBack(bytes); }

 private:
  source::IndexMemory& memory_;
  const std::string& path_;
};

template <typename Result>
absl::Status Any(const Result&) {
  return absl::OkStatus();
}

// The bytes that a process unpacks, fetched as they are asked for.
class UnpackedThere final : public source::UnpackedFile {
 public:
  UnpackedThere(std::unique_ptr<Lease> lease, ScanWatch watch)
      : watch_(std::move(watch)), lease_(std::move(lease)) {}

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
    return lease_->Ask<uint64_t>({.ask = {.task = Task::kUnpack, .offset = into.size()}}, watch_,
                                 take, Any<uint64_t>);
  }

  const ScanWatch watch_;
  std::unique_ptr<Lease> lease_;
};

class ProcessParsers final : public source::Parsers {
 public:
  ProcessParsers(std::shared_ptr<Indexers> indexers, uint64_t owner,
                 std::function<bool()> cancelled)
      : indexers_(std::move(indexers)), owner_(owner), watch_{.cancelled = std::move(cancelled)} {}
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

  absl::StatusOr<source::ScannedShard> ReadIndex(const ForeignFile& index,
                                                 const source::IndexTopic& topic,
                                                 const source::IndexedShard& shard) override {
    const posix::Fd none;
    const ForeignFile of = {.fd = none, .path = shard.path, .bytes = topic.shard_bytes};
    FilesMemory memory(memory_, index.path);
    return Ask<source::ScannedShard>(
        {.ask = {.task = Task::kIndexFile, .format = static_cast<uint32_t>(topic.kind)},
         .file = &index,
         .second = &of,
         .image = topic.roles,
         .label = shard.version},
        [&](AnswerSource& source) { return TakeScanned(source, topic.shard_bytes, memory); },
        [&](const source::ScannedShard& scanned) { return CheckIndexed(scanned, topic); });
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
        [&](AnswerSource& source) {
          source::IndexMemory alone;  // the opener keeps one index at a time
          FilesMemory memory(alone, index.path);
          return TakeMegatron(source, index.bytes, memory);
        },
        [&](const source::MegatronPieces& pieces) { return CheckMegatron(pieces, bin.bytes); });
  }

  absl::StatusOr<source::ScannedList> ReadList(const ForeignFile& file,
                                               const source::ListSpec& spec,
                                               const ScanWatch& watch) override {
    FilesMemory memory(memory_, file.path);
    return Lease(indexers_, owner_)
        .Ask<source::ScannedList>(
            {.ask = {.task = Task::kList}, .file = &file, .image = ToString(spec)}, watch,
            [&](AnswerSource& source) { return TakeList(source, file.bytes, memory); }, CheckList);
  }

  absl::StatusOr<source::ScannedList> ReadNames(const ForeignFile& file,
                                                source::NamesFormat format) override {
    FilesMemory memory(memory_, file.path);
    return Ask<source::ScannedList>(
        {.ask = {.task = Task::kNames, .format = static_cast<uint32_t>(format)}, .file = &file},
        [&](AnswerSource& source) { return TakeList(source, file.bytes, memory); }, CheckList);
  }

  absl::StatusOr<source::Annotations> ReadCoco(const ForeignFile& file,
                                               const source::CocoSpec& spec,
                                               const ScanWatch& watch) override {
    FilesMemory memory(memory_, file.path);
    return Lease(indexers_, owner_)
        .Ask<source::Annotations>(
            {.ask = {.task = Task::kCoco}, .file = &file, .image = source::ToString(spec)}, watch,
            [&](AnswerSource& source) { return TakeAnnotations(source, file.bytes, 0, memory); },
            [](const source::Annotations& all) { return CheckAnnotations(all, 0); });
  }

  absl::StatusOr<source::Annotations> ReadNotes(const ForeignFile& batch, uint64_t notes,
                                                source::NoteFormat format) override {
    FilesMemory memory(memory_, batch.path);
    return Ask<source::Annotations>(
        {.ask = {.task = Task::kNotes, .format = static_cast<uint32_t>(format)}, .file = &batch},
        [&](AnswerSource& source) { return TakeAnnotations(source, batch.bytes, notes, memory); },
        [&](const source::Annotations& all) { return CheckAnnotations(all, notes); });
  }

  absl::StatusOr<source::CifarBatch> ReadCifar(const ForeignFile& file) override {
    FilesMemory memory(memory_, file.path);
    return Ask<source::CifarBatch>(
        {.ask = {.task = Task::kCifar}, .file = &file},
        [&](AnswerSource& source) { return TakeCifar(source, file.bytes, memory); },
        [&](const source::CifarBatch& batch) { return CheckCifar(batch, file.bytes); });
  }

  absl::StatusOr<source::IdxContent> ReadIdx(const ForeignFile& file,
                                             source::IdxRole role) override {
    auto lease = std::make_unique<Lease>(indexers_, owner_);
    PENSTOCK_ASSIGN_OR_RETURN(
        const IdxAnswer answer,
        lease->Ask<IdxAnswer>(
            {.ask = {.task = Task::kIdx, .role = static_cast<uint32_t>(role)}, .file = &file},
            watch_, TakeIdx, [&](const IdxAnswer& each) { return CheckIdx(each, role); }));
    source::IdxContent content = {.header = answer.header};
    if (answer.packed) content.items = std::make_unique<UnpackedThere>(std::move(lease), watch_);
    return content;
  }

 private:
  template <typename Result>
  absl::StatusOr<Result> Ask(const Question& question,
                             const std::function<absl::StatusOr<Result>(AnswerSource&)>& take,
                             const std::function<absl::Status(const Result&)>& check) {
    return Lease(indexers_, owner_).Ask<Result>(question, watch_, take, check);
  }

  absl::StatusOr<source::ScannedShard> Scan(const Question& question, const ScanWatch& watch,
                                            absl::Status (*check)(const source::ScannedShard&,
                                                                  uint64_t)) {
    const uint64_t bytes = question.file->bytes;
    FilesMemory memory(memory_, question.file->path);
    return Lease(indexers_, owner_)
        .Ask<source::ScannedShard>(
            question, watch,
            [&](AnswerSource& source) { return TakeScanned(source, bytes, memory); },
            [&](const source::ScannedShard& scanned) { return check(scanned, bytes); });
  }

  const std::shared_ptr<Indexers> indexers_;
  const uint64_t owner_;
  const ScanWatch watch_;  // of calls that have none of their own
  source::IndexMemory memory_;
};

}  // namespace

std::shared_ptr<source::Parsers> MakeProcessParsers(std::shared_ptr<Indexers> indexers,
                                                    uint64_t owner,
                                                    std::function<bool()> cancelled) {
  return std::make_shared<ProcessParsers>(std::move(indexers), owner, std::move(cancelled));
}

}  // namespace penstock::indexer
