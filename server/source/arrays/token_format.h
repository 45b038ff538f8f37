// Token file formats, and where the tokens are in them: raw files (nanoGPT), files with llm.c's
// header, and one-dimensional .npy arrays. For Megatron see megatron_index.h. Pure.
//
// llm.c's header has 256 int32, of which the first three are a magic number, a version and the
// number of tokens (https://github.com/karpathy/llm.c, dev/data/data_common.py).
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

// True for integer types.
bool IsTokenType(base::DType type);

struct TokenExtent {
  base::DType type = base::DType::kUInt16;
  uint64_t offset = 0;  // of the first token in the file
  uint64_t tokens = 0;  // at least 1
  uint64_t bytes() const { return tokens * base::ElementBytes(type); }
};

// How much of a file's beginning is enough to tell its format and parse its header.
inline constexpr size_t kTokenBeginning = 64 * 1024;

// Recognises kNpy and kLlmC; anything else is kRaw, including the .bin of a Megatron pair.
TokenFormat RecogniseFormat(std::span<const std::byte> begin);

// Finds the tokens of a file in any format except kAuto and kMegatron. `begin`: the first
// kTokenBeginning bytes of the file, or all of it if it is shorter; `raw_type`: the type of raw
// tokens.
// **Errors**: InvalidArgument names the file, the offset, what was expected and found, and the
// remedy.
struct TokenFileFacts {
  std::span<const std::byte> begin;
  uint64_t bytes = 0;
  const std::string& path;
};
absl::StatusOr<TokenExtent> FindTokens(TokenFormat format, const TokenFileFacts& file,
                                       base::DType raw_type);

}  // namespace penstock::source
