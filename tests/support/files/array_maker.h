// Builds array and token files for tests, byte by byte from the formats' specifications.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/files/little_endian.h"

namespace penstock::testing {

// A header of .npy around any literal, padded to 64 bytes as NumPy does.
inline std::string NpyHeaderAround(std::string literal, char major = 1) {
  const size_t prefix = major == 1 ? 10 : 12;
  while ((prefix + literal.size() + 1) % 64 != 0) literal += ' ';
  literal += '\n';
  std::string bytes = std::string("\x93NUMPY") + major + '\0';
  bytes += major == 1 ? LittleEndian(static_cast<uint16_t>(literal.size()))
                      : LittleEndian(static_cast<uint32_t>(literal.size()));
  return bytes + literal;
}

// `shape` is written like a Python tuple: "(3, 4)".
inline std::string Npy(const std::string& descr, const std::string& shape,
                       const std::string& data) {
  return NpyHeaderAround("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape +
                         ", }") +
         data;
}

// 256 int32, then the tokens.
template <typename Token>
std::string LlmC(const std::vector<Token>& tokens, int32_t magic = 20240520, int32_t version = 1) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<int32_t>(tokens.size());
  return LittleEndian(header) + LittleEndian(tokens);
}

// The content of a Megatron index, before encoding.
struct Megatron {
  uint8_t type = 8;  // uint16
  std::vector<int32_t> lengths = {};
  std::vector<int64_t> pointers = {};
  std::vector<int64_t> documents =
      {};  // first sequence of each document, then the number of sequences
  std::vector<int8_t> modes = {};

  // Contiguous sequences of these lengths, two bytes per token, each one a document.
  static Megatron Of(const std::vector<int32_t>& lengths) {
    Megatron index{.lengths = lengths};
    int64_t byte = 0;
    for (size_t s = 0; s < lengths.size(); ++s) {
      index.pointers.push_back(byte);
      index.documents.push_back(static_cast<int64_t>(s));
      byte += 2 * lengths[s];
    }
    index.documents.push_back(static_cast<int64_t>(lengths.size()));
    return index;
  }

  std::string Bytes() const {
    return std::string("MMIDIDX\0\0", 9) + LittleEndian(uint64_t{1}) + static_cast<char>(type) +
           LittleEndian(uint64_t{lengths.size()}) + LittleEndian(uint64_t{documents.size()}) +
           LittleEndian(lengths) + LittleEndian(pointers) + LittleEndian(documents) +
           LittleEndian(modes);
  }
};

// first, first + 1, …
template <typename Token>
std::vector<Token> CountUp(size_t count, Token first = 0) {
  std::vector<Token> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<Token>(first + i);
  return tokens;
}

}  // namespace penstock::testing
