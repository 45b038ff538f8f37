// Builds tar shards for tests, byte by byte.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace penstock::testing {

// A header block with a correct checksum.
struct TarEntry {
  std::string name;
  uint64_t bytes = 0;
  char type = '0';
  std::string magic = std::string(
      "ustar\0"
      "00",
      8);
  std::string prefix = {};
  std::string size = {};  // the raw field, instead of `bytes`
};

inline void PutTarChecksum(std::string& block) {
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(148, 7, text, 7);
}

inline std::string TarHeaderBytes(const TarEntry& entry) {
  std::string block(512, '\0');
  const auto put = [&block](size_t at, const std::string& text) {
    block.replace(at, text.size(), text);
  };
  put(0, entry.name.substr(0, 100));
  put(100, "0000644");
  char size[32];
  std::snprintf(size, sizeof size, "%011llo", static_cast<unsigned long long>(entry.bytes));
  put(124, entry.size.empty() ? std::string(size) : entry.size);
  put(136, "00000000000");
  block[156] = entry.type;
  put(257, entry.magic);
  put(345, entry.prefix);
  PutTarChecksum(block);
  return block;
}

inline std::string TarPadded(std::string data) {
  data.resize((data.size() + 511) / 512 * 512);
  return data;
}

inline std::string TarFile(const std::string& name, const std::string& data) {
  return TarHeaderBytes({.name = name, .bytes = data.size()}) + TarPadded(data);
}

// GNU: a long name, then the member under the name's first 100 bytes.
inline std::string TarLongNamed(const std::string& name, const std::string& data) {
  const std::string gnu = std::string("ustar  \0", 8);
  return TarHeaderBytes(
             {.name = "././@LongLink", .bytes = name.size() + 1, .type = 'L', .magic = gnu}) +
         TarPadded(name + '\0') +
         TarHeaderBytes({.name = name, .bytes = data.size(), .magic = gnu}) + TarPadded(data);
}

inline std::string PaxRecord(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

// An extended header (`type` x: for the next member, g: for all following members).
inline std::string PaxHeader(const std::string& records, char type = 'x') {
  return TarHeaderBytes({.name = "PaxHeaders/0", .bytes = records.size(), .type = type}) +
         TarPadded(records);
}

inline std::string TarEnd() { return std::string(1024, '\0'); }

}  // namespace penstock::testing
