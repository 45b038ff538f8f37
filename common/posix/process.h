// Processes: pidfds, and children that die with their owner.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::posix {

// pidfd_open(2) of a process; of ourselves with getpid().
absl::StatusOr<Fd> OpenPidfd(pid_t pid);

// Whether a descriptor that a stranger sent is a pidfd (by its /proc/self/fdinfo).
bool IsPidfd(const Fd& fd);

// Whether the process behind a pidfd is gone (readable). Never waits.
bool IsGone(const Fd& pidfd);

struct Exit {
  bool signalled = false;
  int code = 0;  // exit code, or the signal's number
};

// A child program in a process group of its own, killed (SIGKILL) when the daemon dies
// (PR_SET_PDEATHSIG; the fork happens in a thread that lives as long as the process: call Spawn
// from such a thread). Destruction kills the group and reaps.
class Child {
 public:
  struct Inherited {
    int fd;      // ours
    int number;  // theirs
  };
  // argv[0] is the program's path. The child gets standard error, the inherited descriptors under
  // their numbers (from 3 on), /dev/null as standard input and output, and nothing else that is
  // open; signals at their defaults; no core dumps. Returns once the program runs or could not be
  // started; kForNothing: before, because the program is read from a disk, and its process waits
  // for a core. Where it cannot be started, the child then exits with 127, and StartError says why.
  enum class Wait { kForProgram, kForNothing };
  static absl::StatusOr<Child> Spawn(const std::vector<std::string>& argv,
                                     const std::vector<Inherited>& fds,
                                     Wait wait = Wait::kForProgram);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  const Fd& pidfd() const { return pidfd_; }
  void Kill();                 // SIGKILL to its group
  std::optional<Exit> Reap();  // its exit, once; never waits
  // Of one that was reaped: why its program was not started; 0: it was.
  int StartError() const;

 private:
  Child() = default;
  pid_t pid_ = -1;
  Fd pidfd_;
  Fd report_;  // of its start, where nobody waited for that
  bool reaped_ = false;
};

}  // namespace penstock::posix
