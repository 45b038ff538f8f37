#include "server/source/arrays/tokens_spec.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/source/files/remote_file.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kTokensPrefix = "tokens:";

template <typename... Words>
absl::Status Wrong(absl::string_view text, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "': ", words...,
                   "; wanted tokens:/FILE,…,length=N, optionally with "
                   "stride=N,dtype=uint16,vocabulary=N,format=auto|raw|llm.c|megatron|npy,"
                   "documents=true|false"));
}

absl::Status CheckRange(absl::string_view name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tokens ", name, ": wanted ", least, " to ", most, ", got ", value));
}

template <typename Value, typename Parsed>
bool Take(const Parsed& parsed, Value& value) {
  if (parsed) value = *parsed;
  return parsed.has_value();
}

absl::Status ParseField(absl::string_view text, absl::string_view part, TokensSpec& spec) {
  const std::pair<absl::string_view, absl::string_view> field =
      absl::StrSplit(part, absl::MaxSplits('=', 1));
  const auto& [name, value] = field;
  const bool understood =
      name == "length"       ? absl::SimpleAtoi(value, &spec.length)
      : name == "stride"     ? absl::SimpleAtoi(value, &spec.stride) && spec.stride != 0
      : name == "vocabulary" ? absl::SimpleAtoi(value, &spec.vocabulary) && spec.vocabulary != 0
      : name == "dtype"      ? Take(base::DTypeFromName(value), spec.type)
      : name == "format"     ? Take(TokenFormatFromName(value), spec.format)
      : name == "documents"  ? absl::SimpleAtob(value, &spec.documents)
                             : false;
  return understood ? absl::OkStatus() : Wrong(text, "'", part, "' is not understood");
}

}  // namespace

absl::Status Validate(const TokensSpec& spec) {
  if (spec.files.empty())
    return absl::InvalidArgumentError("tokens files: wanted at least one, got none");
  PENSTOCK_RETURN_IF_ERROR(CheckRange("files", spec.files.size(), 1, kMaxTokensFiles));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("length", spec.length, 1, kMaxTokensLength));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("stride", spec.stride, 0, kMaxTokensStride));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("vocabulary", spec.vocabulary, 0, kMaxVocabulary));
  if (spec.type && !IsTokenType(*spec.type))
    return absl::InvalidArgumentError(absl::StrCat(
        "tokens dtype: wanted an integer type like uint16, got ", base::DTypeName(*spec.type)));
  const bool pairs = spec.format == TokenFormat::kAuto || spec.format == TokenFormat::kMegatron;
  if (spec.documents && !pairs)
    return absl::InvalidArgumentError(
        absl::StrCat("tokens documents: files of format ", TokenFormatName(spec.format),
                     " do not say where documents begin; wanted Megatron's"));
  return absl::OkStatus();
}

bool IsTokens(absl::string_view text) { return absl::StartsWith(text, kTokensPrefix); }

absl::StatusOr<TokensSpec> ParseTokens(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kTokensPrefix))
    return Wrong(text, "it does not begin with ", kTokensPrefix);
  TokensSpec spec;
  for (const absl::string_view part : absl::StrSplit(rest, ',')) {
    if (absl::StartsWith(part, "/") || IsRemotePath(part)) {
      spec.files.emplace_back(part);
    } else {
      PENSTOCK_RETURN_IF_ERROR(ParseField(text, part, spec));
    }
  }
  if (spec.length == 0) return Wrong(text, "the length of a sample is missing");
  PENSTOCK_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

std::string ToString(const TokensSpec& spec) {
  std::string text = absl::StrCat(kTokensPrefix, absl::StrJoin(spec.files, ","),
                                  ",length=", spec.length, ",stride=", spec.step());
  if (spec.type) absl::StrAppend(&text, ",dtype=", base::DTypeName(*spec.type));
  if (spec.vocabulary != 0) absl::StrAppend(&text, ",vocabulary=", spec.vocabulary);
  absl::StrAppend(&text, ",format=", TokenFormatName(spec.format),
                  ",documents=", spec.documents ? "true" : "false");
  return text;
}

}  // namespace penstock::source
