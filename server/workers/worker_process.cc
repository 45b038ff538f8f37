#include "server/workers/worker_process.h"

#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>

#include "common/posix/socket.h"

namespace penstock::workers {
namespace {

std::span<const std::byte> BytesOf(const SegmentMessage& message) {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace

std::string DefaultProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "penstock-worker";
}

absl::StatusOr<WorkerProcess> WorkerProcess::Start(const Options& options,
                                                   std::shared_ptr<SupervisorEndpoint> link) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::ErrnoStatus(errno, "making a worker's socket");
  }
  posix::Fd ours(ends[0]);
  const posix::Fd theirs(ends[1]);
  auto child = posix::Child::Spawn(
      {options.program, absl::StrCat("user=", options.user), absl::StrCat("lane=", options.number)},
      {{theirs.get(), kSocketNumber},
       {link->memory().get(), kChannelNumber},
       {link->work_notifier().get(), kWorkNumber},
       {link->done_event().get(), kDoneNumber}},
      options.wait);
  if (!child.ok()) return base::Annotate(child.status(), "worker");
  return WorkerProcess(std::move(child).value(), std::move(ours), std::move(link));
}

absl::Status WorkerProcess::UseSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes) {
  const SegmentMessage message{.verb = SegmentVerb::kUse, .segment = segment, .bytes = bytes};
  const int number = memory.get();
  return posix::Send(socket_, BytesOf(message), std::span(&number, 1));
}

absl::Status WorkerProcess::ForgetSegment(uint32_t segment) {
  const SegmentMessage message{.verb = SegmentVerb::kForget, .segment = segment, .bytes = 0};
  return posix::Send(socket_, BytesOf(message), {});
}

}  // namespace penstock::workers
