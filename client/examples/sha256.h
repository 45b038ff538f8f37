// SHA-256 of bytes that arrive in pieces, by OpenSSL.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

namespace penstock::examples {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    Check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void Add(std::span<const uint8_t> bytes) {
    Check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  // Returns the digest in hexadecimal. Nothing can be added after this.
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    Check(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
      char pair[3];
      std::snprintf(pair, sizeof(pair), "%02x", digest[i]);
      hex += pair;
    }
    return hex;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  // Fails only without memory, or if this OpenSSL has no SHA-256.
  static void Check(bool done) {
    if (done) return;
    std::fputs("OpenSSL has no SHA-256; install libssl3\n", stderr);
    std::exit(1);
  }

  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace penstock::examples
