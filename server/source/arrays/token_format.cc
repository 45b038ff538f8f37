#include "server/source/arrays/token_format.h"

#include <utility>

namespace penstock::source {
namespace {

using base::DType;

constexpr std::pair<TokenFormat, absl::string_view> kNames[] = {
    {TokenFormat::kAuto, "auto"},         {TokenFormat::kRaw, "raw"}, {TokenFormat::kLlmC, "llm.c"},
    {TokenFormat::kMegatron, "megatron"}, {TokenFormat::kNpy, "npy"},
};

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

}  // namespace penstock::source
