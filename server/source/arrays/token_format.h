// Files of tokens, and where the tokens are in them: raw ones (nanoGPT's), those with the header of
// llm.c, and one-dimensional .npy arrays. Megatron's are in megatron_index.h. Pure.
//
// llm.c: 256 int32, of which the first three are a magic number, a version and how many tokens
// follow (https://github.com/karpathy/llm.c, dev/data/data_common.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/base/status.h"

namespace penstock::source {

enum class TokenFormat { kAuto, kRaw, kLlmC, kMegatron, kNpy };

// "auto", "raw", "llm.c", "megatron", "npy".
absl::string_view TokenFormatName(TokenFormat format);
std::optional<TokenFormat> TokenFormatFromName(absl::string_view name);

// Integers.
bool IsTokenType(base::DType type);

struct TokenExtent {
  base::DType type = base::DType::kUInt16;
  uint64_t offset = 0;  // of the first token in the file
  uint64_t tokens = 0;  // at least 1
  uint64_t bytes() const { return tokens * base::ElementBytes(type); }
};

// The beginning of a file that tells its format, and has all of its header.
inline constexpr size_t kTokenBeginning = 64 * 1024;

// What a file looks like: kNpy, kLlmC, else kRaw. Of a Megatron pair the .bin looks raw.
TokenFormat FormatOf(std::span<const std::byte> begin);

// A file of a format, but for kAuto and kMegatron. `begin`: its first kTokenBeginning bytes, or as
// many as it has; `raw_type`: what raw tokens are. InvalidArgument names file, byte, wanted, got,
// remedy.
struct TokenFileFacts {
  std::span<const std::byte> begin;
  uint64_t bytes = 0;
  const std::string& path;
};
absl::StatusOr<TokenExtent> FindTokens(TokenFormat format, const TokenFileFacts& file,
                                       base::DType raw_type);

}  // namespace penstock::source
