#include "common/sandbox/probe/run_probe.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "common/posix/memory.h"
#include "common/sandbox/probe/attempts.h"
#include "common/sandbox/probe/landlock_trial.h"
#include "common/sandbox/probe/probe_page.h"

namespace penstock::sandbox {
namespace {

// The process's name in the kernel's audit log. It tells the kills of each start from attacks.
constexpr char kCalled[] = "penstock-probe";

AttemptTarget ToAttemptTarget(const ProbePage& page) {
  return {.daemon = page.daemon, .address = page.secret_address, .folder = page.folder};
}

[[noreturn]] void BreakOut(const ConfineProgram& confine, ProbePage& page) {
  ::prctl(PR_SET_NAME, kCalled, 0, 0, 0);
  const AttemptTarget target = ToAttemptTarget(page);
  LandlockTrial trial(target, page.landlock_outcomes);
  trial.TryOutside();
  const auto try_inside = [&](int version) { trial.TryInside(version); };
  if (confine({.before_filter = try_inside}).ok()) (void)Attempt(0, target);
  ::_exit(0);
}

// Starts a process that enters the program's own sandbox, tries what Landlock forbids as soon as
// that is in force, and makes a forbidden call once the filter is. Returns the signal that ended
// it; 0 if none did.
int KilledBy(const ConfineProgram& confine, ProbePage& page) {
  const pid_t child = ::fork();
  if (child == 0) BreakOut(confine, page);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void Report(const absl::Status& failure, ProbePage& page) {
  const std::string text(failure.message());
  const size_t size = std::min(text.size(), sizeof(page.failure) - 1);
  std::copy_n(text.begin(), size, page.failure);
  page.failure[size] = 0;
}

void TryAll(ProbePage& page) {
  const AttemptTarget target = ToAttemptTarget(page);
  for (size_t i = 0; i < kAttempts.size(); ++i) {
    page.outcomes[i].store(kUnderWay);
    page.outcomes[i].store(Attempt(i, target));
  }
}

int Probe(const ConfineProgram& confine, ProbePage& page) {
  page.folder[sizeof(page.folder) - 1] = 0;
  if (!kIsInstrumented) page.killed_by = KilledBy(confine, page);
  const absl::StatusOr<EnteredSandbox> confined = confine({.fail_with = kProbeErrno});
  if (!confined.ok()) {
    Report(confined.status(), page);
    return 2;
  }
  page.filters = confined->filters_calls;
  page.landlock = confined->landlock;
  if (page.filters != 0) TryAll(page);
  page.finished.store(1);
  return 0;
}

}  // namespace

int RunProbe(const ConfineProgram& confine) {
  const posix::Fd memory(kProbePageNumber);
  auto mapping = posix::Mapping::Map(memory, sizeof(ProbePage), posix::Access::kReadWrite);
  auto* page = mapping.ok() ? reinterpret_cast<ProbePage*>(mapping->data()) : nullptr;
  if (page == nullptr || page->magic != kProbeMagic) {
    std::fputs("only penstockd of the same version starts this program as a probe\n", stderr);
    return 2;
  }
  return Probe(confine, *page);
}

}  // namespace penstock::sandbox
