#include "server/indexer/program/confine_indexer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "common/sandbox/limits.h"
#include "common/sandbox/sandbox.h"
#include "server/indexer/wire/wire.h"

namespace penstock::indexer {
namespace {

constexpr uint64_t kOpenFiles = 16;
// The largest index of Megatron, which an indexer maps, and 4 GiB for all else.
constexpr uint64_t kMapped = uint64_t{12} << 30;

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
      sandbox::MapSharedFile(PROT_READ),  // an index of Megatron
      // To find out whether descriptors were lost to the limit on open files
      // (common/posix/message.cc).
      {SYS_fcntl, {{.index = 0, .value = STDERR_FILENO}, {.index = 1, .value = F_DUPFD_CLOEXEC}}},
  };
}

}  // namespace

absl::StatusOr<sandbox::EnteredSandbox> ConfineIndexer(const sandbox::ProbeHooks& hooks) {
  PENSTOCK_RETURN_IF_ERROR(LimitIndexer());
  return sandbox::Enter({.calls = CallsOfAnIndexer(), .hooks = hooks});
}

absl::Status LimitIndexer() {
  PENSTOCK_RETURN_IF_ERROR(sandbox::LimitProcess(
      {.open_files = kOpenFiles, .memory = kMemoryBytes, .addresses = kMemoryBytes + kMapped}));
  sandbox::GiveUpPrivileges();
  return absl::OkStatus();
}

}  // namespace penstock::indexer
