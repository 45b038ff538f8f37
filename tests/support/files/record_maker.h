// Builds TFRecord files and tf.train.Example messages for tests, byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/files/little_endian.h"

namespace penstock::testing {

// Computed bit by bit, following the standard. Shares no code with the product.
inline uint32_t SlowCrc32c(const std::string& bytes) {
  uint32_t sum = 0xFFFFFFFF;
  for (const char c : bytes) {
    sum ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~sum;
}

inline std::string RecordSum(const std::string& bytes) {
  const uint32_t sum = SlowCrc32c(bytes);
  return LittleEndian<uint32_t>((sum >> 15 | sum << 17) + 0xA282EAD8);
}

// A record: length, data, and the checksums of both.
inline std::string RecordBytes(const std::string& data) {
  const std::string length = LittleEndian<uint64_t>(data.size());
  return length + RecordSum(length) + data + RecordSum(data);
}

inline std::string WireVarint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// A length-delimited field in protobuf's wire format.
inline std::string WireField(uint32_t number, const std::string& body) {
  return WireVarint(number << 3 | 2) + WireVarint(body.size()) + body;
}

// A feature; `list` is its field number: 1 byte strings, 2 floats, 3 int64s.
inline std::string FeatureOf(const std::string& name, uint32_t list, const std::string& values) {
  return WireField(1, WireField(1, name) + WireField(2, WireField(list, values)));
}
inline std::string BytesFeature(const std::string& name, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += WireField(1, value);
  return FeatureOf(name, 1, list);
}
inline std::string FloatsFeature(const std::string& name, const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) packed += LittleEndian(value);
  return FeatureOf(name, 2, WireField(1, packed));
}
inline std::string IntsFeature(const std::string& name, const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) packed += WireVarint(static_cast<uint64_t>(value));
  return FeatureOf(name, 3, WireField(1, packed));
}
inline std::string ExampleOf(const std::string& features) { return WireField(1, features); }

// A photograph with its label, under the default names.
inline std::string ImageRecord(const std::string& image, int64_t label) {
  return RecordBytes(ExampleOf(IntsFeature("image/class/label", {label}) +
                               BytesFeature("image/encoded", {image})));
}

}  // namespace penstock::testing
