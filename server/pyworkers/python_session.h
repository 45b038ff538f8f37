// What the hosts know of a session, and what they can do to the world around them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/shm/doorway_wire.h"

namespace penstock::pyworkers {

using HostToken = std::array<unsigned char, shm::kHostTokenBytes>;

// A session of a Python dataset.
struct PythonSession {
  uint64_t id = 0;    // never used again
  uint64_t peer = 0;  // its trainer's connection
  // The dataset; the same object for all of its sessions. Kept until nobody makes its batches any
  // more, so that its address stands for no other dataset.
  std::shared_ptr<const void> dataset = {};
  std::string called = {};   // the user's name for the dataset
  uint64_t account = 0;      // see MakerDeath
  uint32_t workers = 1;      // that it asks for, 1 … kMaxPythonWorkers
  uint32_t streams = 0;      // of an iterable dataset: it needs as many workers; 0: it is none
  base::Duration timeout{};  // for a row, or to collate a batch; 0: the longest
  bool keep_host = false;    // for a while once the last session is closed
};

// What a session's trainer does, as it says.
struct TrainerLook {
  bool may_ask = false;       // the session goes on, so that its trainer looks at it
  bool is_waiting = false;    // it sleeps because no batch is ready
  uint32_t hosts_forked = 0;  // how often it forked a host, or tried to
};

// Calls that the hosts make. None may wait, or call back.
struct Surroundings {
  // Sends a peer a doorway message with descriptors.
  std::function<absl::Status(uint64_t peer, const void* message, size_t bytes,
                             const std::vector<int>& fds)>
      send;
  // Sends a Python worker a segment that it may write to, unless it has it.
  std::function<absl::Status(uint64_t peer, uint32_t segment)> send_segment;
  std::function<void(uint64_t peer)> close;  // closes a connection
  // Raises the number of hosts that a session's trainer is asked to fork, and wakes it.
  std::function<void(uint64_t session, uint32_t hosts)> want_hosts;
  std::function<TrainerLook(uint64_t session)> look;
};

}  // namespace penstock::pyworkers
