// Maps a fuzz target's bytes as if they were a file's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/posix/memory.h"

namespace penstock::testing {

// **Requires**: at least one byte.
inline posix::Mapping Stored(std::span<const uint8_t> bytes) {
  const auto file = posix::MakeMemory("stored", bytes.size()).value();
  auto mapping = posix::Mapping::Map(file, bytes.size(), posix::Access::kReadWrite).value();
  std::memcpy(mapping.data(), bytes.data(), bytes.size());
  return mapping;
}

inline std::span<std::byte> Writable(posix::Mapping& mapping) {
  return {mapping.data(), mapping.size()};
}

}  // namespace penstock::testing
