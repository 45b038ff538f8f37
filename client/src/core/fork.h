// Whether this process is a forked child of the one that made an object, without a system call.
// Any thread. A process made by clone(2) without libc's fork handlers is not noticed.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::client {

// How many forks lie between the process that loaded this library and this one. Written by a fork
// handler in the child alone; it has to be global, because a fork tells no object.
extern std::atomic<uint32_t> fork_generation;

// Begins to watch forks, once a process, and gives the generation to remember.
uint32_t WatchForks();

// Whether a fork came since.
inline bool ForkedSince(uint32_t generation) {
  return fork_generation.load(std::memory_order_relaxed) != generation;
}

}  // namespace penstock::client
