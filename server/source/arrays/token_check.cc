#include "server/source/arrays/token_check.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/base/check.h"

namespace penstock::source {
namespace {

constexpr size_t kBlock = 1024;  // tokens per maximum

template <typename Token>
Token Load(const std::byte* tokens, size_t place) {
  Token token;
  std::memcpy(&token, tokens + place * sizeof(token), sizeof(token));
  return token;
}

template <typename Token>
[[gnu::always_inline]] inline Token GreatestOf(const std::byte* tokens) {
  Token greatest = 0;
  for (size_t i = 0; i < kBlock; ++i) greatest = std::max(greatest, Load<Token>(tokens, i));
  return greatest;
}

template <typename Token>
Token Greatest(const std::byte* tokens) {
  return GreatestOf<Token>(tokens);
}

#ifdef __x86_64__
template <typename Token>
[[gnu::target("avx2")]] Token GreatestAvx2(const std::byte* tokens) {
  return GreatestOf<Token>(tokens);
}
#endif

// The greatest token of a block, computed with the widest available instructions.
template <typename Token>
Token (*ChooseGreatest())(const std::byte*) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return GreatestAvx2<Token>;
#endif
  return Greatest<Token>;
}

// `Token` is unsigned, so negative tokens compare as the greatest.
template <typename Token>
std::optional<size_t> Find(std::span<const std::byte> bytes, uint64_t vocabulary) {
  if (vocabulary > std::numeric_limits<Token>::max()) return std::nullopt;
  const std::byte* tokens = bytes.data();
  const size_t count = bytes.size() / sizeof(Token);
  const auto first_of = [&](size_t begin, size_t end) -> std::optional<size_t> {
    for (size_t i = begin; i < end; ++i)
      if (Load<Token>(tokens, i) >= vocabulary) return i;
    return std::nullopt;
  };
  const auto greatest = ChooseGreatest<Token>();
  size_t begin = 0;
  for (; begin + kBlock <= count; begin += kBlock)
    if (greatest(tokens + begin * sizeof(Token)) >= vocabulary)
      return first_of(begin, begin + kBlock);
  return first_of(begin, count);
}

}  // namespace

std::optional<size_t> FirstBeyond(std::span<const std::byte> tokens, base::DType type,
                                  uint64_t vocabulary) {
  switch (base::ElementBytes(type)) {
    case 1:
      return Find<uint8_t>(tokens, vocabulary);
    case 2:
      return Find<uint16_t>(tokens, vocabulary);
    case 4:
      return Find<uint32_t>(tokens, vocabulary);
    default:
      return Find<uint64_t>(tokens, vocabulary);
  }
}

int64_t TokenAt(std::span<const std::byte> tokens, base::DType type, size_t place) {
  PENSTOCK_CHECK((place + 1) * base::ElementBytes(type) <= tokens.size());
  switch (type) {
    case base::DType::kUInt8:
      return Load<uint8_t>(tokens.data(), place);
    case base::DType::kInt8:
      return Load<int8_t>(tokens.data(), place);
    case base::DType::kUInt16:
      return Load<uint16_t>(tokens.data(), place);
    case base::DType::kInt16:
      return Load<int16_t>(tokens.data(), place);
    case base::DType::kUInt32:
      return Load<uint32_t>(tokens.data(), place);
    case base::DType::kInt32:
      return Load<int32_t>(tokens.data(), place);
    default:
      return Load<int64_t>(tokens.data(), place);
  }
}

}  // namespace penstock::source
