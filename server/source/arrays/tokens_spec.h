// What a dataset of tokens is made of, as the configuration or a text says it. Pure.
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
  std::vector<std::string> files;        // absolute, or patterns (braces.h)
  uint32_t length = 0;                   // tokens of a sample, without the last target
  uint64_t stride = 0;                   // from one window to the next; 0: length
  std::optional<base::DType> type = {};  // of raw tokens; none: uint16
  uint64_t vocabulary = 0;               // each token is below; 0: whatever comes
  TokenFormat format = TokenFormat::kAuto;
  bool documents = false;  // of Megatron pairs: no window crosses documents

  uint64_t step() const { return stride == 0 ? length : stride; }
  bool operator==(const TokensSpec&) const = default;
};

inline constexpr uint32_t kMaxTokensLength = 1 << 24;
inline constexpr uint64_t kMaxTokensStride = uint64_t{1} << 40;
inline constexpr uint64_t kMaxVocabulary = uint64_t{1} << 62;
inline constexpr size_t kMaxTokensFiles = 10'000;

// InvalidArgument names what cannot be, by its name in ParseTokens.
absl::Status Validate(const TokensSpec& spec);

// "tokens:/a.bin,/b.bin,length=1024" and, separated by commas, any of stride=, dtype=, vocabulary=,
// format=, documents=. A path with a comma can be given in the configuration alone.
bool IsTokens(absl::string_view text);
absl::StatusOr<TokensSpec> ParseTokens(absl::string_view text);
// In full, as it is parsed.
std::string ToString(const TokensSpec& spec);

}  // namespace penstock::source
