#include "common/posix/failpoint.h"

#ifdef PENSTOCK_FAILPOINTS

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/posix/failpoint_terms.h"

// The linker defines these symbols around the entries that PENSTOCK_FAILPOINT_NAME adds. They are
// weak, because a program may have no failpoints.
extern "C" {
extern const char* const __start_penstock_failpoints[] __attribute__((weak));
extern const char* const __stop_penstock_failpoints[] __attribute__((weak));
}

namespace penstock::posix {
namespace {

base::Mutex failpoint_mutex;
FailpointTerms* failpoint_terms = nullptr;  // null: none is set; never destroyed

[[noreturn]] void ListFailpoints() {
  std::set<std::string> names;
  for (const char* const* name = __start_penstock_failpoints; name != __stop_penstock_failpoints;
       ++name)
    names.insert(*name);
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  std::fflush(stdout);
  ::_exit(0);
}

// Runs before main, so that programs need no call for it, and before there are threads.
__attribute__((constructor)) void ReadFailpoints() {
  const char* text = std::getenv("PENSTOCK_FAILPOINTS");
  if (text == nullptr || *text == '\0') return;
  if (absl::string_view(text) == "list") ListFailpoints();
  absl::StatusOr<FailpointTerms> terms = FailpointTerms::Parse(text);
  if (!terms.ok()) {
    std::fprintf(stderr, "%s\n", std::string(terms.status().message()).c_str());
    ::_exit(2);
  }
  failpoint_terms = new FailpointTerms(*std::move(terms));
}

// One write, so that lines of several processes do not mix. It survives a kill that follows.
void LogFailpoint(const char* name, const FailpointTerm& term) {
  const char* path = std::getenv("PENSTOCK_FAILPOINTS_LOG");
  if (path == nullptr) return;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string line =
      absl::StrCat(name, " ", FailpointActionName(term.action), " ", ::getpid(), "\n");
  if (::write(fd, line.data(), line.size()) < 0) std::perror("PENSTOCK_FAILPOINTS_LOG");
  ::close(fd);
}

}  // namespace

absl::Status AtFailpoint(const char* name) {
  if (failpoint_terms == nullptr) return absl::OkStatus();
  FailpointTerm term;
  {
    base::MutexLock lock(failpoint_mutex);
    term = failpoint_terms->Next(name);
  }
  if (term.action == FailpointAction::kOff) return absl::OkStatus();
  LogFailpoint(name, term);
  switch (term.action) {
    case FailpointAction::kKill:
      ::kill(::getpid(), SIGKILL);
      for (;;) ::pause();
    case FailpointAction::kExit:
      ::_exit(term.argument);
    case FailpointAction::kError:
      return absl::Status(static_cast<absl::StatusCode>(term.argument),
                          absl::StrCat("failpoint ", name));
    case FailpointAction::kDelay:
      std::this_thread::sleep_for(std::chrono::milliseconds(term.argument));
      return absl::OkStatus();
    case FailpointAction::kPause:
      for (;;) ::pause();
    case FailpointAction::kOff:
      break;
  }
  return absl::OkStatus();
}

}  // namespace penstock::posix

#endif
