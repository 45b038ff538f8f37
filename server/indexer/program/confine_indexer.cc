#include "server/indexer/program/confine_indexer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "common/sandbox/sandbox.h"
#include "server/indexer/wire/wire.h"

namespace penstock::indexer {
namespace {

constexpr rlim_t kOpenFiles = 16;
// If memory runs out, the kernel should kill this process, which can be replaced.
constexpr char kOomScore[] = "500";

absl::Status Limit(int what, rlim_t value) {
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  if (::setrlimit(static_cast<__rlimit_resource_t>(what), &limit) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "limiting the indexer");
}

void VolunteerForTheOomKiller() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, kOomScore, sizeof(kOomScore) - 1);
  ::close(file);
}

// The calls that an indexer needs in addition to CallsOfEveryProcess: it receives questions and
// files, reads the files at any offset, and answers.
std::vector<sandbox::AllowedCall> CallsOfAnIndexer() {
#ifdef SYS_poll
  constexpr int kPoll = SYS_poll;
#else
  constexpr int kPoll = SYS_ppoll;
#endif
  return {
      {kPoll},
      sandbox::WithFirst(SYS_recvmsg, kSocketNumber),
      sandbox::WithFirst(SYS_sendmsg, kSocketNumber),
      {SYS_pread64},
      // To find out whether descriptors were lost to the limit on open files
      // (common/posix/message.cc).
      {SYS_fcntl, {{.index = 0, .value = STDERR_FILENO}, {.index = 1, .value = F_DUPFD_CLOEXEC}}},
  };
}

}  // namespace

absl::StatusOr<sandbox::EnteredSandbox> ConfineIndexer(int fail_with) {
  PENSTOCK_RETURN_IF_ERROR(LimitIndexer());
  return sandbox::Enter({.calls = CallsOfAnIndexer(), .fail_with = fail_with});
}

absl::Status LimitIndexer() {
  VolunteerForTheOomKiller();  // while its /proc is its own
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, kOpenFiles));
  if (!sandbox::kIsInstrumented)  // sanitizers' shadow memory is private, too
    PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_DATA, kMemoryBytes));
  sandbox::GiveUpPrivileges();
  return absl::OkStatus();
}

}  // namespace penstock::indexer
