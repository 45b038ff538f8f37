// A host or a Python worker that has entered the doorway, as the doorway identified it. Plain
// values.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/posix/fd.h"
#include "common/shm/doorway_wire.h"
#include "server/pyworkers/channel_endpoint.h"

namespace penstock::pyworkers {

struct Newcomer {
  uint64_t peer = 0;  // its connection
  std::array<unsigned char, shm::kHostTokenBytes> token = {};
  std::optional<ChannelEndpoint::Worker> worker = {};  // unset: it is a host
  std::shared_ptr<const posix::Fd> process = {};       // pidfd, shared with the doorway
  pid_t pid = 0;                                       // 0: not known
};

}  // namespace penstock::pyworkers
