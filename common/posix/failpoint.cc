#include "common/posix/failpoint.h"

#ifdef PENSTOCK_FAILPOINTS

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/posix/failpoint_counts.h"
#include "common/posix/failpoint_terms.h"

// The linker defines these symbols around the entries that PENSTOCK_FAILPOINT_NAME adds. They are
// weak, because a program may have no failpoints.
extern "C" {
extern const char* const __start_penstock_failpoints[] __attribute__((weak));
extern const char* const __stop_penstock_failpoints[] __attribute__((weak));
}

namespace penstock::posix {
namespace {

const FailpointTerms* failpoint_terms = nullptr;  // null: none is set; never destroyed
FailpointCounts own_failpoint_counts;
FailpointCounts* failpoint_counts = &own_failpoint_counts;  // or the shared file

[[noreturn]] void RefuseFailpoints(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  ::_exit(2);
}

[[noreturn]] void ListFailpoints() {
  std::set<std::string> names;
  for (const char* const* name = __start_penstock_failpoints; name != __stop_penstock_failpoints;
       ++name)
    names.insert(*name);
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  std::fflush(stdout);
  ::_exit(0);
}

void ShareFailpointCounts(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* at = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, sizeof(FailpointCounts)) == 0)
    at = ::mmap(nullptr, sizeof(FailpointCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    RefuseFailpoints(absl::StrCat("PENSTOCK_FAILPOINTS_COUNTS: cannot map ", path));
  ::close(fd);
  failpoint_counts = static_cast<FailpointCounts*>(at);
}

// All processes have the same terms, so they write the same names.
void NameFailpointCounts() {
  for (size_t place = 0; place < failpoint_terms->size(); ++place) {
    FailpointCount& count = failpoint_counts->at(place);
    failpoint_terms->name(place).copy(count.name, sizeof(count.name) - 1);
  }
}

// Runs before main, so that programs need no call for it, and before there are threads.
__attribute__((constructor)) void ReadFailpoints() {
  const char* text = std::getenv("PENSTOCK_FAILPOINTS");
  if (text == nullptr || *text == '\0') return;
  if (absl::string_view(text) == "list") ListFailpoints();
  absl::StatusOr<FailpointTerms> terms = FailpointTerms::Parse(text);
  if (!terms.ok()) RefuseFailpoints(std::string(terms.status().message()));
  if (terms->size() > kMostFailpoints) RefuseFailpoints("PENSTOCK_FAILPOINTS: too many names");
  failpoint_terms = new FailpointTerms(*std::move(terms));
  if (const char* path = std::getenv("PENSTOCK_FAILPOINTS_COUNTS")) ShareFailpointCounts(path);
  NameFailpointCounts();
}

// A sandbox allows signals to oneself only in this form.
[[noreturn]] void KillOneself() {
  const pid_t self = ::getpid();
  ::syscall(SYS_tgkill, self, self, SIGKILL);
  for (;;) ::poll(nullptr, 0, -1);
}

}  // namespace

absl::Status AtFailpoint(const char* name) {
  if (failpoint_terms == nullptr) return absl::OkStatus();
  const std::optional<size_t> place = failpoint_terms->Find(name);
  if (!place) return absl::OkStatus();
  FailpointCount& count = failpoint_counts->at(*place);
  const FailpointTerm term = failpoint_terms->Choose(*place, count.reached.fetch_add(1));
  if (term.action != FailpointAction::kOff) count.acted.fetch_add(1);
  switch (term.action) {
    case FailpointAction::kOff:
      break;
    case FailpointAction::kKill:
      KillOneself();
    case FailpointAction::kExit:
      ::_exit(term.argument);
    case FailpointAction::kError:
      return absl::Status(static_cast<absl::StatusCode>(term.argument),
                          absl::StrCat("failpoint ", name));
    case FailpointAction::kDelay:
      if (term.argument > 0) ::poll(nullptr, 0, term.argument);
      break;
    case FailpointAction::kPause:
      for (;;) ::poll(nullptr, 0, -1);
  }
  return absl::OkStatus();
}

}  // namespace penstock::posix

#endif
