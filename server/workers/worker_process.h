// One worker process, as the daemon sees it. Owned by the supervisor; its thread alone calls it.
// The end of the object is the end of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/process.h"
#include "server/workers/supervisor_endpoint.h"

namespace penstock::workers {

// Where penstock-worker is when nobody says so: beside the running program.
std::string DefaultProgram();

class WorkerProcess {
 public:
  struct Options {
    std::string program;
    uint32_t user = 0;    // whose rows it writes
    uint32_t number = 0;  // of its queue; both show up in the process list
    posix::Child::Wait wait = posix::Child::Wait::kForProgram;
  };
  static absl::StatusOr<WorkerProcess> Start(const Options& options,
                                             std::shared_ptr<SupervisorEndpoint> link);

  pid_t pid() const { return child_.pid(); }
  const posix::Fd& pidfd() const { return child_.pidfd(); }
  SupervisorEndpoint& link() const { return *link_; }

  // Tells it of a segment, of which it gets a descriptor; that no request will name one any more.
  // An error means that the worker does not read: it should be killed.
  absl::Status UseSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes);
  absl::Status ForgetSegment(uint32_t segment);

  void Kill() { child_.Kill(); }
  std::optional<posix::Exit> Reap() { return child_.Reap(); }
  int StartError() const { return child_.StartError(); }

 private:
  WorkerProcess(posix::Child child, posix::Fd socket, std::shared_ptr<SupervisorEndpoint> link)
      : child_(std::move(child)), socket_(std::move(socket)), link_(std::move(link)) {}

  posix::Child child_;
  posix::Fd socket_;
  std::shared_ptr<SupervisorEndpoint>
      link_;  // shared with the queue, whose reader may outlast the process
};

}  // namespace penstock::workers
