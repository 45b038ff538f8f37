// Loads a shared library into each program that the test starts while this object exists.
#pragma once

#include <cstdlib>
#include <string>

namespace penstock::testing {

class Preload {
 public:
  explicit Preload(const std::string& library) {
    ::setenv("LD_PRELOAD", library.c_str(), 1);
    // AddressSanitizer wants to be the first library, and does not start otherwise.
    const char* asan = std::getenv("ASAN_OPTIONS");
    const std::string options =
        std::string(asan == nullptr ? "" : asan) + ":verify_asan_link_order=0";
    ::setenv("ASAN_OPTIONS", options.c_str(), 1);
  }
  ~Preload() { ::unsetenv("LD_PRELOAD"); }
  Preload(const Preload&) = delete;
  Preload& operator=(const Preload&) = delete;
};

}  // namespace penstock::testing
