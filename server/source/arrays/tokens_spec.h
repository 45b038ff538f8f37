// The specification of a dataset of tokens, from the configuration or a text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/base/status.h"
#include "server/source/arrays/token_format.h"

namespace penstock::source {

struct TokensSpec {
  std::vector<std::string> files = {};   // absolute paths or brace patterns (braces.h)
  uint32_t length = 0;                   // tokens per sample, without the last target
  uint64_t stride = 0;                   // distance between windows; 0: length
  std::optional<base::DType> type = {};  // type of raw tokens; unset: uint16
  uint64_t vocabulary = 0;               // each token must be below it; 0: not checked
  TokenFormat format = TokenFormat::kAuto;
  bool documents = false;  // for Megatron pairs: no window crosses documents

  uint64_t step() const { return stride == 0 ? length : stride; }
  bool operator==(const TokensSpec&) const = default;
};

inline constexpr uint32_t kMaxTokensLength = 1 << 24;
inline constexpr uint64_t kMaxTokensStride = uint64_t{1} << 40;
inline constexpr uint64_t kMaxVocabulary = uint64_t{1} << 62;
inline constexpr size_t kMaxTokensFiles = 10'000;

// **Errors**: InvalidArgument names the invalid option as in ParseTokens.
absl::Status Validate(const TokensSpec& spec);

// Text form: "tokens:/a.bin,/b.bin,length=1024", optionally followed by comma-separated stride=,
// dtype=, vocabulary=, format=, documents=. A path that contains a comma works only in the
// configuration.
bool IsTokens(absl::string_view text);
absl::StatusOr<TokensSpec> ParseTokens(absl::string_view text);
// The full text form, which parses to the same value.
std::string ToString(const TokensSpec& spec);

}  // namespace penstock::source
