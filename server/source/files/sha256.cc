#include "server/source/files/sha256.h"

#include <openssl/evp.h>

#include <bit>

#include "absl/strings/escaping.h"
#include "common/base/check.h"

namespace penstock::source {

static_assert(std::endian::native == std::endian::little, "numbers are added as they lie");

Sha256::Sha256() : state_(EVP_MD_CTX_new()) {
  PENSTOCK_CHECK(state_ != nullptr && EVP_DigestInit_ex(state_, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() { EVP_MD_CTX_free(state_); }

void Sha256::AddBytes(std::span<const std::byte> bytes) {
  PENSTOCK_CHECK(EVP_DigestUpdate(state_, bytes.data(), bytes.size()) == 1);
}

void Sha256::Add(absl::string_view text) {
  Add(uint64_t{text.size()});
  AddBytes(std::as_bytes(std::span(text.data(), text.size())));
}

void Sha256::Add(uint64_t number) { AddBytes(std::as_bytes(std::span(&number, 1))); }

Sha256::Sum Sha256::Finish() {
  Sum sum;
  PENSTOCK_CHECK(
      EVP_DigestFinal_ex(state_, reinterpret_cast<unsigned char*>(sum.data()), nullptr) == 1);
  return sum;
}

std::string ToHex(const Sha256::Sum& sum) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(sum.data()), sum.size()});
}

}  // namespace penstock::source
