// Builds IDX files for tests, byte by byte, and compresses them with gzip.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace penstock::testing {

// The magic number and the dimensions' sizes; unsigned bytes by default.
inline std::string IdxHeaderBytes(std::initializer_list<uint32_t> sizes, uint8_t type = 0x08) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  return bytes;
}

// Byte j of image i is 7 · i + j, modulo 256.
inline std::string IdxImages(uint32_t count, uint32_t height, uint32_t width) {
  std::string bytes = IdxHeaderBytes({count, height, width});
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < height * width; ++j) bytes += static_cast<char>(7 * i + j);
  return bytes;
}

// Label i is 3 · i, modulo `classes`.
inline std::string IdxLabels(uint32_t count, uint32_t classes = 10) {
  std::string bytes = IdxHeaderBytes({count});
  for (uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(3 * i % classes);
  return bytes;
}

inline std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    std::abort();
  std::string packed(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

}  // namespace penstock::testing
