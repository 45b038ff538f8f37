#include "server/indexer/program/questions.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/posix/failpoint.h"
#include "server/indexer/wire/annotations.h"
#include "server/indexer/wire/checks.h"
#include "server/indexer/wire/cifar.h"
#include "server/indexer/wire/lists.h"
#include "server/indexer/wire/results.h"
#include "server/source/parse/directly.h"

namespace penstock::indexer {
namespace {

// Puts the outcome and, if it is good, what `put` makes of the result.
template <typename Result, typename Putter>
absl::Status PutResult(Answer& answer, const absl::StatusOr<Result>& result, Putter put) {
  PENSTOCK_RETURN_IF_ERROR(PutOutcome(answer, result.status()));
  if (result.ok()) PENSTOCK_RETURN_IF_ERROR(put(answer, *result));
  return answer.End();
}

absl::StatusOr<source::ScannedShard> CheckNames(absl::StatusOr<source::ScannedShard> scanned) {
  if (!scanned.ok()) return scanned;
  uint64_t bytes = 0;
  for (const auto& extension : scanned->extensions) bytes += extension.name.size();
  if (bytes <= kMostNameBytes) return scanned;
  return absl::InvalidArgumentError(
      absl::StrCat("the names of a shard's kinds of members have more than ", kMostNameBytes,
                   " bytes; pack the shards anew"));
}

}  // namespace

void WaitWritable(const posix::Fd& socket) {
  pollfd entry{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  while (::poll(&entry, 1, 1000) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<Asked> ReadAsk(const posix::Message& message) {
  Asked asked;
  const absl::Status strange = absl::InternalError(
      "penstock-indexer is started by penstockd of the same version only: a strange message");
  if (message.bytes.size() < sizeof asked.ask) return strange;
  std::memcpy(&asked.ask, message.bytes.data(), sizeof asked.ask);
  size_t at = sizeof asked.ask;
  for (size_t i = 0; i < kTexts; ++i) {
    const size_t bytes = asked.ask.text_bytes[i];
    if (bytes > message.bytes.size() - at) return strange;
    asked.texts[i].assign(reinterpret_cast<const char*>(message.bytes.data()) + at, bytes);
    at += bytes;
  }
  return asked;
}

Questions::Questions(const DaemonLine& line) : line_(line), parsers_(source::DirectParsers()) {}

absl::Status Questions::AnswerAll() {
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(posix::Message message, line_.Next());
    PENSTOCK_RETURN_IF_ERROR(AnswerOne(std::move(message)));
    if (unpacked_ != nullptr) continue;
    file_.Close();  // nobody should have to wait for us to let go of a file
    second_.Close();
  }
}

absl::Status Questions::AnswerOne(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const Asked asked, ReadAsk(message));
  Answer answer(line_, asked.ask.number);
  if (asked.ask.task == Task::kUnpack) return AnswerUnpack(asked, answer);
  unpacked_.reset();
  // No descriptor is sent for a remote file.
  auto next = message.fds.begin();
  const auto take = [&] { return next == message.fds.end() ? posix::Fd() : std::move(*next++); };
  file_ = asked.ask.is_remote != 0 ? posix::Fd() : take();
  second_ = take();
  remote_.reset();
  if (asked.ask.is_remote != 0) remote_.emplace(line_, asked.ask.number);
  const source::ForeignFile file = File(asked);
  PENSTOCK_FAILPOINT("indexer_program.file_received");
  switch (asked.ask.task) {
    case Task::kScanTar:
    case Task::kScanRecords:
      return AnswerScan(asked, answer);
    case Task::kTarKey:
      return PutResult(answer, parsers_->TarKey(file, asked.ask.from, asked.ask.offset), PutText);
    case Task::kNpy:
      return PutResult(answer, parsers_->ReadNpy(file), PutNpy);
    case Task::kTokens:
      return PutResult(
          answer,
          parsers_->ReadTokens(file, static_cast<source::TokenFormat>(asked.ask.format),
                               static_cast<base::DType>(asked.ask.type)),
          PutTokens);
    case Task::kMegatron:
      return AnswerMegatron(asked, answer);
    case Task::kIdx:
      return AnswerIdx(asked, answer);
    case Task::kCifar:
      return PutResult(answer, parsers_->ReadCifar(file), PutCifar);
    case Task::kList:
      return AnswerList(asked, answer);
    case Task::kNames:
      return PutResult(
          answer, parsers_->ReadNames(file, static_cast<source::NamesFormat>(asked.ask.format)),
          PutList);
    case Task::kCoco:
      return AnswerCoco(asked, answer);
    case Task::kNotes:
      return PutResult(
          answer, parsers_->ReadNotes(file, 0, static_cast<source::NoteFormat>(asked.ask.format)),
          PutAnnotations);
    case Task::kIndexFile:
      return AnswerIndexFile(asked, answer);
    case Task::kMore:
    case Task::kUnpack:
    case Task::kBytes:
      break;
  }
  return absl::InternalError("an unknown question");
}

source::ForeignFile Questions::File(const Asked& asked) const {
  return {.fd = file_,
          .path = asked.texts[0],
          .bytes = asked.ask.bytes,
          .remote = remote_ ? &*remote_ : nullptr};
}

source::ForeignFile Questions::Second(const Asked& asked) const {
  return {.fd = second_, .path = asked.texts[1], .bytes = asked.ask.second_bytes};
}

absl::Status Questions::AnswerScan(const Asked& asked, Answer& answer) {
  source::ScanWatch watch = {.found = [&](uint64_t more) { answer.Found(more); }};
  if (asked.ask.wants_places != 0)
    watch.piece = [&](const source::RemotePiece& piece) {
      answer.Place(piece.offset, piece.bytes);
    };
  const source::ForeignFile second = Second(asked);
  return PutResult(
      answer,
      CheckNames(asked.ask.task == Task::kScanTar
                     ? parsers_->ScanTar(File(asked), asked.ask.has_second != 0 ? &second : nullptr,
                                         {.image = asked.texts[2], .label = asked.texts[3]}, watch)
                     : parsers_->ScanRecords(
                           File(asked), {.image = asked.texts[2], .label = asked.texts[3]}, watch)),
      PutScanned);
}

absl::Status Questions::AnswerList(const Asked& asked, Answer& answer) {
  const source::ScanWatch watch = {.found = [&](uint64_t more) { answer.Found(more); }};
  const absl::StatusOr<source::ListSpec> spec = source::ParseListText(asked.texts[2]);
  if (!spec.ok()) return PutResult<source::ScannedList>(answer, spec.status(), PutList);
  return PutResult(answer, parsers_->ReadList(File(asked), *spec, watch), PutList);
}

absl::Status Questions::AnswerCoco(const Asked& asked, Answer& answer) {
  const source::ScanWatch watch = {.found = [&](uint64_t more) { answer.Found(more); }};
  const absl::StatusOr<source::AnnotatedSpec> spec = source::ParseAnnotatedText(asked.texts[2]);
  const auto* const coco = spec.ok() ? std::get_if<source::CocoSpec>(&*spec) : nullptr;
  if (coco == nullptr) return absl::InternalError("a question about no COCO file");
  return PutResult(answer, parsers_->ReadCoco(File(asked), *coco, watch), PutAnnotations);
}

// The facts are known before the pieces, and the index is good by then.
absl::Status Questions::AnswerMegatron(const Asked& asked, Answer& answer) {
  bool begun = false;
  const auto begin = [&](const source::MegatronFacts& facts) -> absl::Status {
    begun = true;
    PENSTOCK_RETURN_IF_ERROR(PutOutcome(answer, absl::OkStatus()));
    return PutRecord(answer,
                     MegatronHead{.type = static_cast<uint32_t>(facts.type), .hash = facts.hash});
  };
  const auto take = [&](std::span<const source::MegatronPiece> pieces) {
    return pieces.empty() ? absl::OkStatus() : PutPieces(answer, pieces);
  };
  const absl::Status read = source::ReadMegatronPieces(File(asked), Second(asked), begin, take);
  if (begun) {
    PENSTOCK_RETURN_IF_ERROR(read);  // the daemon is gone
    PENSTOCK_RETURN_IF_ERROR(PutPieces(answer, {}));
  } else {
    PENSTOCK_RETURN_IF_ERROR(PutOutcome(answer, read));
  }
  return answer.End();
}

absl::Status Questions::AnswerIdx(const Asked& asked, Answer& answer) {
  auto content = parsers_->ReadIdx(File(asked), static_cast<source::IdxRole>(asked.ask.role));
  if (content.ok()) unpacked_ = std::move(content->items);
  return PutResult(answer, content, [&](Answer& into, const source::IdxContent& idx) {
    return PutIdx(into, {.header = idx.header, .packed = unpacked_ != nullptr});
  });
}

// What the file lists is checked here, too: whoever wrote it is to blame, and not this process.
absl::Status Questions::AnswerIndexFile(const Asked& asked, Answer& answer) {
  const source::IndexTopic topic = {.kind = static_cast<source::IndexedKind>(asked.ask.format),
                                    .roles = asked.texts[2],
                                    .shard_bytes = asked.ask.second_bytes};
  absl::StatusOr<source::ScannedShard> read = CheckNames(
      parsers_->ReadIndex(File(asked), topic, {.version = asked.texts[3], .path = asked.texts[1]}));
  if (read.ok() && !CheckIndexed(*read, topic).ok())
    read = absl::DataLossError("it lists what a shard of this size cannot hold");
  return PutResult(answer, read, PutScanned);
}

absl::Status Questions::AnswerUnpack(const Asked& asked, Answer& answer) {
  if (unpacked_ == nullptr) return absl::InternalError("nothing is being unpacked");
  std::vector<std::byte> bytes(std::min<uint64_t>(asked.ask.offset, kWindowBytes));
  const absl::StatusOr<size_t> got = unpacked_->Read(bytes);
  return PutResult(answer, got, [&](Answer& into, size_t count) -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(PutRecord(into, uint64_t{count}));
    return into.Put(std::span(bytes).first(count));
  });
}

}  // namespace penstock::indexer
