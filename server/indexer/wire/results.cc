#include "server/indexer/wire/results.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "server/indexer/wire/take_records.h"
#include "server/source/files/escape.h"
#include "server/source/tar/tar_format.h"

namespace penstock::indexer {
namespace {

using source::ArrayShape;
using source::ScannedShard;
using source::ShardMember;
using source::ShardSample;

constexpr uint64_t kSmallestRecord = 16;  // of a TFRecord file; a tar member has 512 bytes

struct ScannedHead {
  uint64_t samples = 0, members = 0, extensions = 0, arrays = 0, numbered = 0;
  uint64_t images = 0, labeled = 0, digest = 0;
};

struct ExtensionHead {
  uint32_t kind = 0, array = 0;
  uint64_t first_sample = 0, samples = 0, least = 0, most = 0;
  uint64_t name_bytes = 0;
};

template <typename Record>
absl::Status PutAll(AnswerSink& sink, const std::vector<Record>& records) {
  return sink.Put(std::as_bytes(std::span(records)));
}

template <typename Record>
absl::Status TakeAll(AnswerSource& source, uint64_t count, AnswerMemory& memory,
                     std::vector<Record>& records) {
  return TakeRecords(source, count, count, memory, records);
}

absl::Status TakeExtensions(AnswerSource& source, uint64_t count, AnswerMemory& memory,
                            ScannedShard& scanned) {
  uint64_t names = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ExtensionHead head;
    PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
    if (head.name_bytes > kMostNameBytes - names) return Lie("names that are too long");
    names += head.name_bytes;
    PENSTOCK_RETURN_IF_ERROR(memory.Take(sizeof(ScannedShard::Extension) + head.name_bytes));
    std::string name(head.name_bytes, '\0');
    PENSTOCK_RETURN_IF_ERROR(source.Take(std::as_writable_bytes(std::span(name))));
    scanned.extensions.push_back({.name = std::move(name),
                                  .kind = head.kind,
                                  .first_sample = head.first_sample,
                                  .samples = head.samples,
                                  .least = head.least,
                                  .most = head.most,
                                  .array = head.array});
  }
  return absl::OkStatus();
}

// The codes that parsers use.
bool IsKnownCode(uint32_t code) {
  constexpr absl::StatusCode kCodes[] = {
      absl::StatusCode::kOk,          absl::StatusCode::kInvalidArgument,
      absl::StatusCode::kDataLoss,    absl::StatusCode::kResourceExhausted,
      absl::StatusCode::kUnavailable, absl::StatusCode::kPermissionDenied,
      absl::StatusCode::kNotFound,    absl::StatusCode::kFailedPrecondition,
      absl::StatusCode::kAborted,     absl::StatusCode::kUnknown,
      absl::StatusCode::kInternal,    absl::StatusCode::kOutOfRange};
  return std::any_of(std::begin(kCodes), std::end(kCodes),
                     [&](absl::StatusCode known) { return static_cast<uint32_t>(known) == code; });
}

}  // namespace

absl::Status Lie(absl::string_view what) {
  return absl::InternalError(absl::StrCat("the process that parses files answered with ", what));
}

absl::Status PutText(AnswerSink& sink, absl::string_view text) {
  text = text.substr(0, kMostTextBytes);
  PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, static_cast<uint32_t>(text.size())));
  return sink.Put(std::as_bytes(std::span(text)));
}

absl::StatusOr<std::string> TakeText(AnswerSource& source) {
  uint32_t bytes = 0;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, bytes));
  if (bytes > kMostTextBytes) return Lie("a text that is too long");
  std::string text(bytes, '\0');
  PENSTOCK_RETURN_IF_ERROR(source.Take(std::as_writable_bytes(std::span(text))));
  return source::EscapeForDisplay(text);
}

absl::Status PutOutcome(AnswerSink& sink, const absl::Status& outcome) {
  PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, static_cast<uint32_t>(outcome.code())));
  return PutText(sink, outcome.message());
}

absl::Status TakeOutcome(AnswerSource& source, absl::Status& outcome) {
  uint32_t code = 0;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, code));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, TakeText(source));
  if (!IsKnownCode(code)) return Lie("an unknown outcome");
  outcome = absl::Status(static_cast<absl::StatusCode>(code), text);
  return absl::OkStatus();
}

absl::Status PutScanned(AnswerSink& sink, const ScannedShard& scanned) {
  PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, ScannedHead{.samples = scanned.samples.size(),
                                                       .members = scanned.members.size(),
                                                       .extensions = scanned.extensions.size(),
                                                       .arrays = scanned.arrays.size(),
                                                       .numbered = scanned.array_of_member.size(),
                                                       .images = scanned.images,
                                                       .labeled = scanned.labeled,
                                                       .digest = scanned.digest}));
  PENSTOCK_RETURN_IF_ERROR(PutText(sink, scanned.example));
  PENSTOCK_RETURN_IF_ERROR(PutText(sink, scanned.warning));
  for (const ScannedShard::Extension& extension : scanned.extensions) {
    PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, ExtensionHead{.kind = extension.kind,
                                                           .array = extension.array,
                                                           .first_sample = extension.first_sample,
                                                           .samples = extension.samples,
                                                           .least = extension.least,
                                                           .most = extension.most,
                                                           .name_bytes = extension.name.size()}));
    PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(extension.name))));
  }
  PENSTOCK_RETURN_IF_ERROR(PutAll(sink, scanned.samples));
  PENSTOCK_RETURN_IF_ERROR(PutAll(sink, scanned.members));
  PENSTOCK_RETURN_IF_ERROR(PutAll(sink, scanned.arrays));
  return PutAll(sink, scanned.array_of_member);
}

absl::StatusOr<ScannedShard> TakeScanned(AnswerSource& source, uint64_t file_bytes,
                                         AnswerMemory& memory) {
  ScannedHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  const uint64_t most_members = file_bytes / source::kTarBlock;
  if (head.samples > file_bytes / kSmallestRecord || head.members > most_members ||
      head.arrays > head.members || (head.numbered != 0 && head.numbered != head.members))
    return Lie("more than the file can hold");
  if (head.extensions > source::kMostExtensions) return Lie("too many kinds of members");
  ScannedShard scanned;
  scanned.images = head.images;
  scanned.labeled = head.labeled;
  scanned.digest = head.digest;
  PENSTOCK_ASSIGN_OR_RETURN(scanned.example, TakeText(source));
  PENSTOCK_ASSIGN_OR_RETURN(scanned.warning, TakeText(source));
  PENSTOCK_RETURN_IF_ERROR(TakeExtensions(source, head.extensions, memory, scanned));
  PENSTOCK_RETURN_IF_ERROR(TakeAll(source, head.samples, memory, scanned.samples));
  PENSTOCK_RETURN_IF_ERROR(TakeAll(source, head.members, memory, scanned.members));
  PENSTOCK_RETURN_IF_ERROR(TakeAll(source, head.arrays, memory, scanned.arrays));
  PENSTOCK_RETURN_IF_ERROR(TakeAll(source, head.numbered, memory, scanned.array_of_member));
  return scanned;
}

namespace {

struct NpyHead {
  uint32_t type = 0, dimensions = 0;
  uint64_t header_bytes = 0, item_bytes = 0;
};

struct TokensHead {
  uint32_t format = 0, type = 0;
  uint64_t offset = 0, tokens = 0;
};

struct IdxHead {
  uint32_t dimensions = 0, packed = 0;
  std::array<uint32_t, 4> sizes = {};
  uint64_t item_bytes = 0;
};

}  // namespace

absl::Status PutNpy(AnswerSink& sink, const source::NpyHeader& header) {
  PENSTOCK_RETURN_IF_ERROR(
      PutRecord(sink, NpyHead{.type = static_cast<uint32_t>(header.type),
                              .dimensions = static_cast<uint32_t>(header.shape.size()),
                              .header_bytes = header.header_bytes,
                              .item_bytes = header.item_bytes}));
  return PutAll(sink, header.shape);
}

absl::StatusOr<source::NpyHeader> TakeNpy(AnswerSource& source) {
  NpyHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  if (head.dimensions == 0 || head.dimensions > source::kLongestNpyHeader)
    return Lie("an array without a shape");
  source::NpyHeader header = {.type = static_cast<base::DType>(head.type),
                              .shape = {},
                              .header_bytes = head.header_bytes,
                              .item_bytes = head.item_bytes};
  header.shape.resize(head.dimensions);
  PENSTOCK_RETURN_IF_ERROR(source.Take(std::as_writable_bytes(std::span(header.shape))));
  return header;
}

absl::Status PutTokens(AnswerSink& sink, const source::FoundTokens& found) {
  return PutRecord(sink, TokensHead{.format = static_cast<uint32_t>(found.format),
                                    .type = static_cast<uint32_t>(found.extent.type),
                                    .offset = found.extent.offset,
                                    .tokens = found.extent.tokens});
}

absl::StatusOr<source::FoundTokens> TakeTokens(AnswerSource& source) {
  TokensHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  return source::FoundTokens{.format = static_cast<source::TokenFormat>(head.format),
                             .extent = {.type = static_cast<base::DType>(head.type),
                                        .offset = head.offset,
                                        .tokens = head.tokens}};
}

absl::Status PutIdx(AnswerSink& sink, const IdxAnswer& answer) {
  return PutRecord(sink, IdxHead{.dimensions = answer.header.dimensions,
                                 .packed = answer.packed ? 1u : 0u,
                                 .sizes = answer.header.sizes,
                                 .item_bytes = answer.header.item_bytes});
}

absl::StatusOr<IdxAnswer> TakeIdx(AnswerSource& source) {
  IdxHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  IdxAnswer answer = {.header = {}, .packed = head.packed != 0};
  answer.header.dimensions = head.dimensions;
  answer.header.sizes = head.sizes;
  answer.header.item_bytes = head.item_bytes;
  return answer;
}

absl::Status PutPieces(AnswerSink& sink, std::span<const source::MegatronPiece> group) {
  PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, uint64_t{group.size()}));
  return sink.Put(std::as_bytes(group));
}

absl::StatusOr<source::MegatronPieces> TakeMegatron(AnswerSource& source, uint64_t index_bytes,
                                                    AnswerMemory& memory) {
  constexpr uint64_t kSmallestSequence = 12;  // its length and its place
  MegatronHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  source::MegatronPieces all = {
      .type = static_cast<base::DType>(head.type), .hash = head.hash, .pieces = {}};
  const uint64_t most = index_bytes / kSmallestSequence;
  for (;;) {
    uint64_t more = 0;
    PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, more));
    if (more == 0) return all;
    if (more > most - all.pieces.size()) return Lie("more sequences than the index can hold");
    PENSTOCK_RETURN_IF_ERROR(TakeRecords(source, more, most, memory, all.pieces));
  }
}

}  // namespace penstock::indexer
