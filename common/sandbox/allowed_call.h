// System calls that a process may still make after it has entered the sandbox.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::sandbox {

// A condition on one argument of a system call. The whole register of 64 bits is compared, so a
// number that the kernel would truncate doesn't match.
struct ArgumentRule {
  enum class Test { kIs, kLacksBits };
  unsigned index = 0;  // 0 is the first argument
  Test test = Test::kIs;
  uint64_t value = 0;
};

// One system call, allowed if all conditions hold. A list may have several entries for a call, and
// then each of them allows it. Never a call that takes a path: a filter cannot see it.
struct AllowedCall {
  int number = 0;  // SYS_…
  std::vector<ArgumentRule> where = {};
};

AllowedCall WithFirst(int number, uint64_t first);  // only if the first argument is this

// What every process needs: memory (never executable), the clock, the end of the process by exit or
// abort, messages on standard error, and going on after it was stopped. Contains the process's id,
// so call it in the process that enters.
std::vector<AllowedCall> CallsOfEveryProcess();

}  // namespace penstock::sandbox
