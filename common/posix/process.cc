#include "common/posix/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "common/base/check.h"

namespace penstock::posix {

std::optional<base::Duration> CpuTimeOf(pid_t process) {
  clockid_t clock;
  timespec used;
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::optional<uint64_t> ResidentBytesOf(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/statm"));
  uint64_t all = 0, resident = 0;  // pages
  if (!(file >> all >> resident)) return std::nullopt;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// "PID (NAME) STATE …"; a name may contain anything.
char StateOf(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '?' : line[name_end + 2];
}

absl::StatusOr<Fd> OpenPidfd(pid_t pid) {
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.valid()) return pidfd;
  if (errno == ESRCH) return absl::NotFoundError(absl::StrCat("no process ", pid));
  return base::ErrnoStatus(errno, absl::StrCat("opening a pidfd of process ", pid));
}

void ForbidAttaching() { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

bool IsPidfd(const Fd& fd) {
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", fd.get()));
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("Pid:", 0) == 0) return true;
  }
  return false;
}

bool IsGone(const Fd& pidfd) {
  pollfd entry{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  int ready;
  do {
    ready = ::poll(&entry, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && (entry.revents & POLLIN) != 0;
}

void KillBehind(const Fd& pidfd) {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

std::string Describe(const Exit& exit) {
  if (!exit.signalled) return absl::StrCat("ended with exit code ", exit.code);
  const char* name = ::sigdescr_np(exit.code);
  return absl::StrCat("killed by signal ", exit.code, " (", name == nullptr ? "?" : name, ")");
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      report_(std::move(other.report_)),
      reaped_(other.reaped_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(report_, other.report_);
  std::swap(reaped_, other.reaped_);
  return *this;
}

Child::~Child() {
  if (pid_ < 0 || reaped_) return;
  Kill();
  siginfo_t info;
  // By PID, not by pidfd, because this must work even if the pidfd could not be created.
  while (::waitid(P_PID, pid_, &info, WEXITED) != 0 && errno == EINTR) {
  }
}

void Child::Kill() {
  // The number cannot be reused before the child is reaped.
  if (pid_ > 0 && !reaped_) ::kill(-pid_, SIGKILL);
}

void Child::Abandon() {
  Kill();
  pid_ = -1;
}

std::optional<Exit> Child::Reap() {
  if (pid_ < 0 || reaped_) return std::nullopt;
  siginfo_t info{};
  if (::waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  Kill();  // processes that the child left in its group
  PENSTOCK_CHECK(::waitid(P_PID, pid_, &info, WEXITED | WNOHANG) == 0);
  reaped_ = true;
  return Exit{.signalled = info.si_code != CLD_EXITED, .code = info.si_status};
}

}  // namespace penstock::posix
