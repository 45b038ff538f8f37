// Text in a buffer of a fixed size: allocates nothing, so that signal handlers can use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock::app {

class CrashText {
 public:
  // Truncates what does not fit.
  CrashText& Add(const char* text) {
    const size_t size = std::min(std::strlen(text), sizeof(text_) - size_);
    std::memcpy(text_ + size_, text, size);
    size_ += size;
    return *this;
  }

  CrashText& AddNumber(uint64_t number) { return AddDigits(number, 10); }
  CrashText& AddHex(uint64_t number) { return Add("0x").AddDigits(number, 16); }
  CrashText& AddAddress(const void* address) {
    return AddHex(reinterpret_cast<uintptr_t>(address));
  }

  // The content of a JSON string; control characters become spaces.
  CrashText& AddJson(const char* text) {
    for (; *text != '\0'; ++text) {
      const bool control = static_cast<unsigned char>(*text) < ' ';
      const char plain[] = {control ? ' ' : *text, '\0'};
      if (*text == '"' || *text == '\\') Add("\\");
      Add(plain);
    }
    return *this;
  }

  const char* data() const { return text_; }
  size_t size() const { return size_; }

 private:
  CrashText& AddDigits(uint64_t number, uint64_t base) {
    char digits[24];
    char* at = digits + sizeof(digits) - 1;
    *at = '\0';
    do {
      *--at = "0123456789abcdef"[number % base];
      number /= base;
    } while (number > 0);
    return Add(at);
  }

  size_t size_ = 0;
  char text_[64 << 10];
};

}  // namespace penstock::app
