// Memory for a part of an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::store {

struct ObjectPart {
  uint64_t offset = 0;
  std::span<std::byte> into = {};
  uint64_t end() const { return offset + into.size(); }
};

}  // namespace penstock::store
