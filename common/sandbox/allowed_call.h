// System calls that a process may still make after it has entered the sandbox.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::sandbox {

// A condition on one argument of a system call. It compares the whole 64-bit register, so a number
// that the kernel would truncate doesn't match.
struct ArgumentRule {
  enum class Test { kIs, kLacksBits, kIsBelow };
  unsigned index = 0;  // 0 is the first argument
  Test test = Test::kIs;
  uint64_t value = 0;
  uint64_t ignored = 0;  // kIs: bits that do not matter
};

// One system call, allowed if all conditions hold. If a list has several entries for a call, each
// of them allows it. Never list a call that takes a path, because a filter cannot see the path.
struct AllowedCall {
  int number = 0;  // SYS_…
  std::vector<ArgumentRule> where = {};
};

AllowedCall WithFirst(int number, uint64_t first);  // only if the first argument is this

// Mapping a file or shared memory by its descriptor, with this protection and without a private
// copy.
AllowedCall MapSharedFile(int protection);

// The calls that every process needs: private memory that counts for RLIMIT_DATA, the clock, exit
// and abort, messages on standard error, and resuming after a stop. The list contains the id of the
// calling process, so call this in the process that enters the sandbox.
std::vector<AllowedCall> CallsOfEveryProcess();

}  // namespace penstock::sandbox
