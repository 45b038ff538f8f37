#include "tests/bench/harness/interrupt.h"

#include <signal.h>

#include <atomic>

namespace penstock::bench {
namespace {

// Global, because a signal handler gets no argument.
std::atomic<int> remembered_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void Remember(int number) { remembered_signal.store(number, std::memory_order_relaxed); }

}  // namespace

void RememberSignals() {
  struct sigaction action = {};
  action.sa_handler = Remember;  // and no SA_RESTART
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

absl::Status CheckInterrupted() {
  const int number = remembered_signal.load(std::memory_order_relaxed);
  if (number == 0) return absl::OkStatus();
  return absl::CancelledError(absl::StrCat("interrupted by signal ", number));
}

void DieOfRememberedSignal() {
  const int number = remembered_signal.load(std::memory_order_relaxed);
  if (number == 0) return;
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace penstock::bench
