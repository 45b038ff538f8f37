// Between fork and exec, only async-signal-safe calls are allowed: other threads may hold any lock.
#include "client/src/connection/detached.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/posix/process.h"

namespace penstock::client {
namespace {

// Written by the middle process, and by the last one if its exec fails.
struct Report {
  pid_t pid;
  int error;
};

[[noreturn]] void SendReport(int pipe, const Report& report) {
  [[maybe_unused]] const ssize_t written = ::write(pipe, &report, sizeof(report));
  ::_exit(report.error == 0 ? 0 : 127);
}

void ResetSignals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void Become(char* const* argv, int null, int log, int pipe) {
  ResetSignals();
  const bool placed = ::dup2(null, 0) == 0 && ::dup2(log, 1) == 1 && ::dup2(log, 2) == 2 &&
                      ::syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) == 0 &&
                      ::chdir("/") == 0;
  if (placed) ::execv(argv[0], argv);
  SendReport(pipe, {0, errno});
}

// The middle process. It leads the new group; when it exits, init becomes the daemon's parent.
[[noreturn]] void Detach(char* const* argv, int null, int log, int pipe) {
  if (::setpgid(0, 0) != 0) SendReport(pipe, {0, errno});
  const pid_t pid = ::fork();
  if (pid == 0) Become(argv, null, log, pipe);
  SendReport(pipe, {pid, pid < 0 ? errno : 0});
}

absl::StatusOr<posix::Fd> Open(const std::string& path, int flags) {
  posix::Fd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd.valid()) return base::ErrnoStatus(errno, absl::StrCat("opening ", path));
  return fd;
}

// Reads reports until the last process has become the program (end of file) or has failed.
absl::StatusOr<pid_t> AwaitStart(const posix::Fd& pipe, const std::string& program) {
  pid_t pid = 0;
  Report report;
  for (;;) {
    const ssize_t got = ::read(pipe.get(), &report, sizeof(report));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(report)) break;
    if (report.error != 0) {
      return base::ErrnoStatus(report.error, absl::StrCat("starting ", program));
    }
    pid = report.pid;
  }
  if (pid == 0)
    return absl::InternalError(
        absl::StrCat("starting ", program, ": the new process did not report back"));
  return pid;
}

}  // namespace

absl::StatusOr<posix::Fd> StartDetached(const std::vector<std::string>& argv,
                                        const std::string& log) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd null, Open("/dev/null", O_RDWR));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd out,
                            Open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoStatus(errno, "making a pipe");
  const posix::Fd reader(ends[0]);
  posix::Fd writer(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  const pid_t middle = ::fork();
  if (middle < 0) return base::ErrnoStatus(errno, absl::StrCat("starting ", argv[0]));
  if (middle == 0) Detach(words.data(), null.get(), out.get(), writer.get());
  writer.Close();
  const absl::StatusOr<pid_t> pid = AwaitStart(reader, argv[0]);
  while (::waitpid(middle, nullptr, 0) < 0 && errno == EINTR) {
  }
  PENSTOCK_RETURN_IF_ERROR(pid.status());
  absl::StatusOr<posix::Fd> pidfd = posix::OpenPidfd(*pid);
  return pidfd.ok() ? *std::move(pidfd) : posix::Fd();
}

}  // namespace penstock::client
