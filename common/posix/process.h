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

// pidfd_open(2); pass getpid() for this process.
absl::StatusOr<Fd> OpenPidfd(pid_t pid);

// Whether a descriptor received from a stranger is a pidfd (according to /proc/self/fdinfo).
bool IsPidfd(const Fd& fd);

// The CPU time of all threads of a process so far; nullopt if the process is gone. Never waits.
std::optional<base::Duration> CpuTimeOf(pid_t process);

// Memory of a process that is in use, shared or not; nullopt if it is gone. Reads /proc.
std::optional<uint64_t> ResidentBytesOf(pid_t process);

// The state of a process as /proc shows it: 'R', 'S', 'D' (waits for storage), 'T' (stopped), 'Z'
// and so on; '?' if it is unknown. Never waits.
char StateOf(pid_t process);

// Whether the process behind a pidfd is gone. Never waits.
bool IsGone(const Fd& pidfd);

// Sends SIGKILL to the process behind a pidfd. Does nothing if it is gone, or if this process may
// not signal it, as when it is in a PID namespace beside ours.
void KillBehind(const Fd& pidfd);

// Makes this process non-dumpable: other processes of its user can neither attach to it nor read or
// write its memory, and it leaves no core file. Its /proc then belongs to root, but it can still
// use /proc/self itself. Programs that it starts are not affected.
void ForbidAttaching();

struct Exit {
  bool signalled = false;
  int code = 0;  // exit code, or the signal's number
};

// "ended with exit code 1", or "killed by signal 9 (Killed)".
std::string Describe(const Exit& exit);

// A child program in its own process group. It is killed (SIGKILL) when the thread that forked it
// ends (PR_SET_PDEATHSIG), and so when the daemon dies. The destructor kills the group and reaps
// the child; it waits for as long as the child is in a system call that cannot be interrupted.
//
// **Requires**: Spawn is called from a thread that lives as long as the process.
class Child {
 public:
  struct Inherited {
    int fd;      // the number in this process
    int number;  // the number in the child
  };
  // What Spawn waits for. kForProgram: it returns once the program runs or could not be started.
  // kForNothing: it returns earlier, because loading the program and waiting for a free core take
  // time. If the program then cannot be started, the child exits with 127, and StartError says why.
  enum class Wait { kForProgram, kForNothing };
  // What the child gets of this process's environment. kOwn: only Penstock's own variables
  // (PENSTOCK_*), LD_LIBRARY_PATH, and the options of sanitizers. Others may hold secrets, or make
  // the C library do what a sandbox forbids.
  enum class Environment { kAll, kOwn };
  // Starts the program at path argv[0]. The child gets the inherited descriptors under their
  // numbers (2 or higher), /dev/null as standard input and output, and this process's standard
  // error unless another one is inherited as number 2; every other descriptor is closed. Its
  // signals are reset to their defaults, and it writes no core dumps.
  static absl::StatusOr<Child> Spawn(const std::vector<std::string>& argv,
                                     const std::vector<Inherited>& fds,
                                     Wait wait = Wait::kForProgram,
                                     Environment environment = Environment::kAll);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  const Fd& pidfd() const { return pidfd_; }
  void Kill();                 // SIGKILL to its group
  std::optional<Exit> Reap();  // returns the exit status, once; never waits
  // Kills its group; the destructor then does not wait. A child that cannot be killed now, because
  // its storage does not answer, ends when it does, and is this process's until then.
  void Abandon();
  // The errno with which starting the program failed; 0 if it was started. **Requires**: reaped.
  int StartError() const;

 private:
  Child() = default;
  pid_t pid_ = -1;
  Fd pidfd_;
  Fd report_;  // with Wait::kForNothing: from which StartError reads
  bool reaped_ = false;
};

}  // namespace penstock::posix
