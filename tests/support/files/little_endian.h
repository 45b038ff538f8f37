// Little-endian numbers as stored in files.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace penstock::testing {

template <typename Number>
std::string LittleEndian(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

template <typename Number>
std::string LittleEndian(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

}  // namespace penstock::testing
