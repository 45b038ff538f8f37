// Builds doorway messages with their headers.
#pragma once

#include "common/shm/doorway_wire.h"

namespace penstock::feed {

template <typename Wire>
Wire MakeWire(shm::DoorwayKind kind) {
  Wire wire = {};
  wire.header = {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
  return wire;
}

}  // namespace penstock::feed
