#include "client/src/core/fork.h"

#include <pthread.h>

#include "common/base/check.h"

namespace penstock::client {

std::atomic<uint32_t> fork_generation{0};

uint32_t WatchForks() {
  static const int error = pthread_atfork(
      nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  PENSTOCK_CHECK(error == 0);
  return fork_generation.load(std::memory_order_relaxed);
}

}  // namespace penstock::client
