// Child::Spawn of process.h: fork and exec. Between the two only async-signal-safe calls are made,
// because other threads may have held any lock at the fork.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/posix/process.h"

namespace penstock::posix {
namespace {

constexpr int kFirstFree = 3;  // after the standard descriptors

// Everything the child needs, prepared before the fork.
struct Plan {
  std::vector<char*> argv, environment;
  std::vector<Child::Inherited> fds;  // sorted by number
  int scratch = 0;                    // above all inherited numbers
  int null = -1;
  int report = -1;  // pipe that carries the errno of a failed step; closed by the exec
  pid_t parent = 0;
};

[[noreturn]] void Fail(int report) {
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof(error));
  ::_exit(127);
}

void ResetSignals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Moves the descriptors to free numbers first, then to their final ones; closes everything else.
bool PlaceDescriptors(Plan& plan) {
  plan.report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, plan.scratch);
  plan.null = ::fcntl(plan.null, F_DUPFD_CLOEXEC, plan.scratch);
  if (plan.report < 0 || plan.null < 0) return false;
  for (Child::Inherited& each : plan.fds) {
    each.fd = ::fcntl(each.fd, F_DUPFD_CLOEXEC, plan.scratch);
    if (each.fd < 0) return false;
  }
  if (::dup2(plan.null, 0) < 0 || ::dup2(plan.null, 1) < 0) return false;
  unsigned next = kFirstFree;
  for (const Child::Inherited& each : plan.fds) {
    if (::dup2(each.fd, each.number) < 0) return false;
    const unsigned number = static_cast<unsigned>(each.number);
    if (number > next && ::close_range(next, number - 1, 0) != 0) return false;
    next = number + 1;
  }
  const unsigned report = static_cast<unsigned>(plan.report);
  if (report > next && ::close_range(next, report - 1, 0) != 0) return false;
  return ::close_range(report + 1, ~0u, 0) == 0;
}

[[noreturn]] void RunChild(Plan& plan) {
  if (::setpgid(0, 0) != 0) Fail(plan.report);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail(plan.report);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before the prctl
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ResetSignals();
  if (!PlaceDescriptors(plan)) Fail(plan.report);
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  Fail(plan.report);
}

// Blocks all signals, so that none of our handlers runs in the child before ResetSignals.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

bool IsOwn(absl::string_view variable) {
  constexpr absl::string_view kNames[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS",
                                          "TSAN_OPTIONS", "UBSAN_OPTIONS"};
  constexpr absl::string_view kPrefix = "PENSTOCK_";
  const absl::string_view name = variable.substr(0, variable.find('='));
  return name.substr(0, kPrefix.size()) == kPrefix ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::vector<char*> MakeEnvironment(Child::Environment which) {
  std::vector<char*> kept;
  for (char** at = environ; *at != nullptr; ++at)
    if (which == Child::Environment::kAll || IsOwn(*at)) kept.push_back(*at);
  kept.push_back(nullptr);
  return kept;
}

absl::StatusOr<Plan> MakePlan(const std::vector<std::string>& argv,
                              const std::vector<Child::Inherited>& fds) {
  Plan plan;
  if (argv.empty()) return absl::InvalidArgumentError("a child needs a program; argv is empty");
  for (const std::string& each : argv) plan.argv.push_back(const_cast<char*>(each.c_str()));
  plan.argv.push_back(nullptr);
  plan.fds = fds;
  std::sort(plan.fds.begin(), plan.fds.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  int last = STDERR_FILENO - 1;
  for (const Child::Inherited& each : plan.fds) {
    if (each.number <= last) {
      return absl::InvalidArgumentError(absl::StrCat("inherited descriptor number ", each.number,
                                                     "; different ones from ", STDERR_FILENO,
                                                     " on are possible"));
    }
    last = each.number;
  }
  plan.scratch = std::max(last + 1, kFirstFree);
  plan.parent = ::getpid();
  return plan;
}

// Waits for the exec: 0 once it has closed the pipe, else the errno of the step that failed.
int ReadReport(const Fd& pipe) {
  int error = 0;
  ssize_t got;
  do {
    got = ::read(pipe.get(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(error) ? error : 0;
}

}  // namespace

int Child::StartError() const { return reaped_ && report_.valid() ? ReadReport(report_) : 0; }

absl::StatusOr<Child> Child::Spawn(const std::vector<std::string>& argv,
                                   const std::vector<Inherited>& fds, Wait wait,
                                   Environment environment) {
  PENSTOCK_ASSIGN_OR_RETURN(Plan plan, MakePlan(argv, fds));
  plan.environment = MakeEnvironment(environment);
  const std::string what = absl::StrCat("starting ", argv[0]);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2];
  if (!null.valid() || ::pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoStatus(errno, what);
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  plan.null = null.get();
  plan.report = writing.get();

  Child child;
  {
    const BlockedSignals blocked;
    child.pid_ = ::fork();
    if (child.pid_ == 0) RunChild(plan);
  }
  if (child.pid_ < 0) {
    return base::ErrnoStatus(errno, what, "check the limit on processes (ulimit -u, pids.max)");
  }
  writing.Close();
  // Parent and child both do this, so that the group can be killed from here on, whichever runs
  // first.
  ::setpgid(child.pid_, child.pid_);
  if (wait == Wait::kForNothing) {
    child.report_ = std::move(reading);
  } else if (const int error = ReadReport(reading); error != 0) {
    return base::ErrnoStatus(error, what);
  }
  PENSTOCK_ASSIGN_OR_RETURN(child.pidfd_, OpenPidfd(child.pid_));
  return child;
}

}  // namespace penstock::posix
