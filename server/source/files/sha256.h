// SHA-256 (FIPS 180-4, by OpenSSL), for digests that must resist deliberate collisions.
// **Thread safety**: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace penstock::source {

class Sha256 {
 public:
  using Sum = std::array<std::byte, 32>;

  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void AddBytes(std::span<const std::byte> bytes);
  // Adds the text's length and the text, so that consecutive texts cannot run together.
  void Add(absl::string_view text);
  void Add(uint64_t number);  // 8 bytes, little endian

  Sum Finish();  // call it once

 private:
  evp_md_ctx_st* const state_;
};

// 64 hexadecimal digits.
std::string ToHex(const Sha256::Sum& sum);

}  // namespace penstock::source
