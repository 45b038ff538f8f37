#include "common/posix/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace penstock::posix {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

}  // namespace

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected, base::Duration timeout) {
  if (timeout <= base::Duration::zero()) return;
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec relative{.tv_sec = static_cast<time_t>(timeout.count() / kSecond),
                          .tv_nsec = static_cast<long>(timeout.count() % kSecond)};
  // No FUTEX_PRIVATE_FLAG, because processes share the word. The caller looks at the word again
  // whatever the outcome: woken, changed before, timed out or interrupted.
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &relative, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace penstock::posix
