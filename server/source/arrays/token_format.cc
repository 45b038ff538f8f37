#include "server/source/arrays/token_format.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/base/check.h"
#include "server/source/arrays/npy_format.h"

namespace penstock::source {
namespace {

using base::DType;

constexpr uint64_t kLlmCHeader = 256 * sizeof(int32_t);

constexpr std::pair<TokenFormat, absl::string_view> kNames[] = {
    {TokenFormat::kAuto, "auto"},         {TokenFormat::kRaw, "raw"}, {TokenFormat::kLlmC, "llm.c"},
    {TokenFormat::kMegatron, "megatron"}, {TokenFormat::kNpy, "npy"},
};

struct LlmCKind {
  int32_t magic, version;
  DType type;
};
constexpr LlmCKind kLlmCKinds[] = {
    {20240520, 1, DType::kUInt16},  // GPT-2's tokens; modded-nanogpt writes it too
    {20240801, 7, DType::kUInt32},  // Llama 3's tokens
};
constexpr int32_t kLlmCEvaluation = 20240522;

int32_t Word(std::span<const std::byte> bytes, size_t index) {
  int32_t word;
  std::memcpy(&word, bytes.data() + index * sizeof(word), sizeof(word));
  return word;
}

template <typename... Words>
absl::Status Wrong(const TokenFileFacts& file, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("'", file.path, "': ", words...));
}

const LlmCKind* LlmCKindOf(std::span<const std::byte> begin) {
  if (begin.size() < kLlmCHeader) return nullptr;
  for (const LlmCKind& kind : kLlmCKinds)
    if (kind.magic == Word(begin, 0) && kind.version == Word(begin, 1)) return &kind;
  return nullptr;
}

// The magic number alone decides. Raw tokens would have to begin with 55304 308 or 60481 308 to be
// mistaken for a header; a header of another version, read as tokens, would yield wrong data
// silently.
bool HasLlmCMagic(std::span<const std::byte> begin) {
  if (begin.size() < sizeof(int32_t)) return false;
  return std::any_of(std::begin(kLlmCKinds), std::end(kLlmCKinds),
                     [&](const LlmCKind& kind) { return kind.magic == Word(begin, 0); });
}

bool IsLlmCEvaluation(std::span<const std::byte> begin) {
  return begin.size() >= kLlmCHeader && Word(begin, 0) == kLlmCEvaluation && Word(begin, 1) == 1;
}

absl::StatusOr<TokenExtent> FindRaw(const TokenFileFacts& file, DType type) {
  const uint64_t element = base::ElementBytes(type);
  if (file.bytes == 0) return Wrong(file, "it is empty; wanted tokens");
  if (file.bytes % element != 0)
    return Wrong(file, "it ends at byte ", file.bytes,
                 ", in the middle of a token: tokens of type ", base::DTypeName(type), " have ",
                 element, " bytes; write the file anew, or say its dtype or format");
  return TokenExtent{.type = type, .offset = 0, .tokens = file.bytes / element};
}

absl::StatusOr<TokenExtent> FindLlmC(const TokenFileFacts& file) {
  if (file.begin.size() < kLlmCHeader)
    return Wrong(file, "it is truncated: a header of llm.c has ", kLlmCHeader, " bytes, the file ",
                 file.bytes);
  const LlmCKind* kind = LlmCKindOf(file.begin);
  if (kind == nullptr)
    return Wrong(
        file, "magic number and version, at byte 0, are ", Word(file.begin, 0), " and ",
        Word(file.begin, 1),
        IsLlmCEvaluation(file.begin) ? ", an evaluation's questions, which are no text" : "",
        "; known of llm.c are 20240520 with version 1 (uint16) and 20240801 with version 7 "
        "(uint32); if these are raw tokens, say so (format: raw)");
  const int32_t tokens = Word(file.begin, 2);
  if (tokens < 1)
    return Wrong(file, "its header, at byte 8, says ", tokens, " tokens; wanted some");
  const TokenExtent extent = {
      .type = kind->type, .offset = kLlmCHeader, .tokens = static_cast<uint64_t>(tokens)};
  if (extent.offset + extent.bytes() != file.bytes)
    return Wrong(file, "its header, at byte 8, says ", tokens, " tokens, which end at byte ",
                 extent.offset + extent.bytes(), "; the file ends at byte ", file.bytes,
                 "; write it anew");
  return extent;
}

absl::StatusOr<TokenExtent> FindNpy(const TokenFileFacts& file) {
  PENSTOCK_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(file.begin, file.path));
  if (header.shape.size() != 1 || !IsTokenType(header.type))
    return Wrong(file, "it has ", header.shape.size(), " dimensions of ",
                 base::DTypeName(header.type), "; wanted tokens: one dimension of integers");
  const TokenExtent extent = {
      .type = header.type, .offset = header.header_bytes, .tokens = header.items()};
  if (extent.offset + extent.bytes() != file.bytes)
    return Wrong(file, "its header says ", extent.tokens, " tokens, which end at byte ",
                 extent.offset + extent.bytes(), "; the file ends at byte ", file.bytes,
                 "; write it anew");
  return extent;
}

}  // namespace

absl::string_view TokenFormatName(TokenFormat format) {
  for (const auto& [known, name] : kNames)
    if (known == format) return name;
  return "unknown";
}

std::optional<TokenFormat> TokenFormatFromName(absl::string_view name) {
  for (const auto& [format, known] : kNames)
    if (known == name) return format;
  return std::nullopt;
}

bool IsTokenType(DType type) {
  switch (type) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kUInt64:
    case DType::kInt64:
      return true;
    default:
      return false;
  }
}

TokenFormat RecogniseFormat(std::span<const std::byte> begin) {
  if (IsNpy(begin)) return TokenFormat::kNpy;
  const bool llm_c = HasLlmCMagic(begin) || IsLlmCEvaluation(begin);
  return llm_c ? TokenFormat::kLlmC : TokenFormat::kRaw;
}

absl::StatusOr<TokenExtent> FindTokens(TokenFormat format, const TokenFileFacts& file,
                                       DType raw_type) {
  switch (format) {
    case TokenFormat::kRaw:
      return FindRaw(file, raw_type);
    case TokenFormat::kLlmC:
      return FindLlmC(file);
    case TokenFormat::kNpy:
      return FindNpy(file);
    case TokenFormat::kAuto:
    case TokenFormat::kMegatron:
      break;
  }
  PENSTOCK_CHECK(false);
  return absl::InternalError("format");
}

}  // namespace penstock::source
