// What a process that enters says it is. A host and its Python workers make the batches of a Python
// dataset; together they are called makers.
#pragma once

#include <array>
#include <cstdint>

#include "common/shm/doorway_wire.h"

namespace penstock::doorway {

enum class Role { kClient, kHost, kWorker };

using HostToken = std::array<unsigned char, shm::kHostTokenBytes>;

// What a host or a Python worker says it was forked for (doorway_wire.h).
struct MakerClaim {
  HostToken token = {};
  uint32_t place = 0, start = 0;  // of a Python worker
  bool operator==(const MakerClaim&) const = default;
};

}  // namespace penstock::doorway
