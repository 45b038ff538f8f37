// Tells whether this process is a forked child of the one that made an object, without a system
// call. Does not notice a process made by clone(2) without libc's fork handlers.
//
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::client {

// Number of forks between the process that loaded this library and this one. Global, because a fork
// handler gets no argument; only that handler writes it, in the child.
extern std::atomic<uint32_t> fork_generation;

// Starts watching for forks, once for each process, and returns the current generation.
uint32_t WatchForks();

// Whether this process was forked since `generation` was read.
inline bool ForkedSince(uint32_t generation) {
  return fork_generation.load(std::memory_order_relaxed) != generation;
}

}  // namespace penstock::client
