#include "server/workers/worker_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "common/posix/socket.h"
#include "common/sandbox/last_words.h"

namespace penstock::workers {
namespace {

class ChildProcess final : public WorkerProcess {
 public:
  ChildProcess(posix::Child child, posix::Fd socket, sandbox::LastWords words)
      : child_(std::move(child)), socket_(std::move(socket)), words_(std::move(words)) {}

  pid_t pid() const override { return child_.pid(); }
  const posix::Fd& pidfd() const override { return child_.pidfd(); }

  absl::Status UseSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes) override {
    const int number = memory.get();
    return Send({.verb = SegmentVerb::kUse, .segment = segment, .bytes = bytes},
                std::span(&number, 1));
  }
  absl::Status ForgetSegment(uint32_t segment) override {
    return Send({.verb = SegmentVerb::kForget, .segment = segment, .bytes = 0}, {});
  }

  void Kill() override { child_.Kill(); }
  std::optional<posix::Exit> Reap() override { return child_.Reap(); }
  int StartError() const override { return child_.StartError(); }
  std::string LastWords() override { return words_.Take(); }

 private:
  absl::Status Send(const SegmentMessage& message, std::span<const int> fds) {
    return posix::Send(socket_, std::as_bytes(std::span(&message, 1)), fds);
  }

  posix::Child child_;
  posix::Fd socket_;
  sandbox::LastWords words_;
};

}  // namespace

std::string DefaultProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "penstock-worker";
}

absl::StatusOr<std::unique_ptr<WorkerProcess>> StartChildProcess(
    const WorkerProcessOptions& options, const SupervisorEndpoint& endpoint) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return base::ErrnoStatus(errno, "making a worker's socket");
  posix::Fd ours(ends[0]);
  const posix::Fd theirs(ends[1]);
  std::vector<posix::Child::Inherited> fds = {{theirs.get(), kSocketNumber},
                                              {endpoint.memory().get(), kChannelNumber},
                                              {endpoint.work_notifier().get(), kWorkNumber},
                                              {endpoint.done_event().get(), kDoneNumber}};
  sandbox::LastWords words;
  if (options.is_quiet) {
    PENSTOCK_ASSIGN_OR_RETURN(words, sandbox::LastWords::Make());
  }
  if (const auto inherited = words.ForChild()) fds.push_back(*inherited);
  auto child = posix::Child::Spawn(
      {options.program.empty() ? DefaultProgram() : options.program,
       absl::StrCat("user=", options.user), absl::StrCat("queue=", options.number)},
      fds, options.wait, posix::Child::Environment::kOwn);
  if (!child.ok()) return base::Annotate(child.status(), "worker");
  words.CloseWritingEnd();
  return std::make_unique<ChildProcess>(std::move(child).value(), std::move(ours),
                                        std::move(words));
}

}  // namespace penstock::workers
