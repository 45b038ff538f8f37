// One worker process, as the daemon sees it. Destroying the object ends the process.
//
// **Ownership**: its UserWorker. **Thread safety**: used by the supervisor's thread.
#pragma once

#include <cstdint>
#include <functional>
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
  virtual ~WorkerProcess() = default;

  virtual pid_t pid() const = 0;
  // Readable once the process has ended.
  virtual const posix::Fd& pidfd() const = 0;

  // Gives the worker a descriptor of a segment; tells it that no request will name the segment
  // again. **Errors**: Aborted if the system has no memory for the message; Unavailable if the
  // process has ended; otherwise the worker does not read its socket and should be killed.
  virtual absl::Status UseSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes) = 0;
  virtual absl::Status ForgetSegment(uint32_t segment) = 0;

  virtual void Kill() = 0;
  // How it ended, once; never waits. StartError: why it could not be started (errno), or 0.
  virtual std::optional<posix::Exit> Reap() = 0;
  virtual int StartError() const = 0;
};

struct WorkerProcessOptions {
  std::string program;  // empty: DefaultProgram()
  uint32_t user = 0;    // whose rows it writes
  uint32_t number = 0;  // of its queue; both show up in the process list
  posix::Child::Wait wait = posix::Child::Wait::kForProgram;
};

// Starts a worker process that serves the other end of the channel. Tests start none.
using StartProcess = std::function<absl::StatusOr<std::unique_ptr<WorkerProcess>>(
    const WorkerProcessOptions& options, const SupervisorEndpoint& endpoint)>;

// Starts penstock-worker.
absl::StatusOr<std::unique_ptr<WorkerProcess>> StartChildProcess(
    const WorkerProcessOptions& options, const SupervisorEndpoint& endpoint);

}  // namespace penstock::workers
