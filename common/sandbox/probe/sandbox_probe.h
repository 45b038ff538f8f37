// Tests a program's sandbox. At its start the daemon runs penstock-worker and penstock-indexer as
// probes, which enter their sandbox and try what a hijacked decoder or parser would.
// server/decisions/sandbox.md says what this proves.
//
// **Ownership**: the daemon's, during its start. **Thread safety**: one thread, which must live as
// long as the process (posix::Child).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/memory.h"
#include "common/posix/process.h"
#include "common/sandbox/probe/probe_page.h"
#include "common/sandbox/sandbox.h"

namespace penstock::sandbox {

// What the sandbox consists of, for status.
struct SandboxReport {
  bool filters_calls = false;
  int landlock = 0;  // version of the interface; 0: none
  struct Tried {
    absl::string_view attempt;
    int error = 0;  // 0: it succeeded; kNotTried, kUnderWay
  };
  std::vector<Tried> outcomes = {};
  std::vector<Tried> landlock_outcomes = {};  // kNotTried if it fails without Landlock, too
  int killed_by = 0;  // the signal with which the program's own filter ends a process

  // "seccomp and landlock", "seccomp", or "none (built with a sanitizer)".
  std::string ToString() const;
};

// Evaluates the page of a probe that has ended, as `exit` says. Pure. `whose`: "workers", for
// messages. `instrumented`: whether the daemon was built with a sanitizer.
// **Errors**: FailedPrecondition says which attempt was not refused, or why the probe could not
// enter the sandbox, and what to do.
absl::StatusOr<SandboxReport> Judge(const ProbePage& page, absl::string_view whose,
                                    const posix::Exit& exit, bool instrumented = kIsInstrumented);

class SandboxProbe {
 public:
  struct Options {
    std::string program;
    std::string whose;        // "workers": whose sandbox it is, for messages
    std::string folder = {};  // one in which the daemon may write; empty: the current
    base::Duration timeout = std::chrono::seconds(10);  // a cold start from a slow disk
  };
  // Starts the probe; it works while the caller does other things. **Errors**: the program cannot
  // be started.
  static absl::StatusOr<std::unique_ptr<SandboxProbe>> Start(const Options& options);
  // Waits for the end of the probe, because one that is killed can leave a file in `folder`.
  ~SandboxProbe();
  SandboxProbe(const SandboxProbe&) = delete;
  SandboxProbe& operator=(const SandboxProbe&) = delete;

  // Waits for the end of the probe. **Errors**: as Judge; DeadlineExceeded if it takes too long.
  absl::StatusOr<SandboxReport> Finish();

 private:
  SandboxProbe(const Options& options, posix::Mapping mapping);
  ProbePage& page() const { return *reinterpret_cast<ProbePage*>(mapping_.data()); }
  absl::StatusOr<posix::Exit> WaitForEnd();

  const std::string program_, whose_;
  posix::Mapping mapping_;
  const base::TimePoint deadline_;
  volatile uint64_t secret_ = kSecret;  // the probe gets its address
  std::unique_ptr<posix::Child> child_;
  bool has_ended_ = false;
};

}  // namespace penstock::sandbox
