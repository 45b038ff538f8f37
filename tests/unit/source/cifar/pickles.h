// Makes pickles as CIFAR's Python version has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

inline std::string ShortText(const std::string& text) {
  return std::string("U") + static_cast<char>(text.size()) + text + "q\x01";
}

inline std::string Word(uint32_t number) {
  return {static_cast<char>(number), static_cast<char>(number >> 8),
          static_cast<char>(number >> 16), static_cast<char>(number >> 24)};
}

// A list of numbers, as two runs of items.
inline std::string Numbers(const std::vector<int>& numbers) {
  std::string pickle = "]q\x05(";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i == 1) pickle += "e(";
    pickle += std::string("K") + static_cast<char>(numbers[i]);
  }
  return pickle + "e";
}

// An array of unsigned bytes. `order`: \x89 (False) for C order.
inline std::string ByteArray(uint32_t rows, uint32_t columns, const std::string& data,
                             const std::string& type = "u1", char order = '\x89') {
  using namespace std::string_literals;
  return "cnumpy.core.multiarray\n_reconstruct\nq\x07"
         "cnumpy\nndarray\nq\x08"
         "K\0\x85q\x09U\x01"
         "b\x87q\x0aRq\x0b(K\x01J"s +
         Word(rows) + "J" + Word(columns) + "\x86q\x0c" + "cnumpy\ndtype\nq\x0dU\x02" + type +
         "K\0K\x01\x87Rq\x0e(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"s + order + "T" +
         Word(static_cast<uint32_t>(data.size())) + data + "tb";
}

// A dict of keys and pickled values by turns.
inline std::string Dict(const std::vector<std::string>& items) {
  std::string pickle = "\x80\x02}q\x01(";
  for (size_t i = 0; i < items.size(); ++i) pickle += i % 2 == 0 ? ShortText(items[i]) : items[i];
  return pickle + "u.";
}

}  // namespace penstock::testing
