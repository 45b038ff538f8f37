// Room for what a decoder notes down about a file, so that it is faster with the same file the next
// time. Whoever decodes keeps these bytes without knowing their meaning.
#pragma once

#include <cstddef>
#include <span>

namespace penstock::decode {

struct CheckpointRoom {
  std::span<std::byte> room = {};
  size_t bytes = 0;      // at the room's start: what the decoder wrote there for this file before
  bool changed = false;  // set by the decoder: `bytes` of the room are new; 0: forget the old ones
};

}  // namespace penstock::decode
