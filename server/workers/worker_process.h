// One worker process, from the daemon's side. Destroying the object ends the process.
//
// **Ownership**: owned by its UserWorker. **Thread safety**: the supervisor's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/process.h"
#include "server/workers/queue/supervisor_endpoint.h"

namespace penstock::workers {

// The default path of penstock-worker: the folder of the running program.
std::string DefaultProgram();

class WorkerProcess {
 public:
  virtual ~WorkerProcess() = default;

  virtual pid_t pid() const = 0;
  // Readable once the process has ended.
  virtual const posix::Fd& pidfd() const = 0;

  // Sends the worker a segment's descriptor, or tells it that no more requests will use the
  // segment. **Errors**: Aborted if the system has no memory for the message; Unavailable if the
  // process has ended; otherwise the worker doesn't read its socket and should be killed.
  virtual absl::Status UseSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes) = 0;
  virtual absl::Status ForgetSegment(uint32_t segment) = 0;

  virtual void Kill() = 0;
  // Reap returns how it ended, once, and never blocks. StartError: the errno of a failed start, or
  // 0.
  virtual std::optional<posix::Exit> Reap() = 0;
  virtual int StartError() const = 0;
  // After Reap, once: the beginning of what it wrote to standard error, as printable characters.
  virtual std::string LastWords() = 0;
};

struct WorkerProcessOptions {
  std::string program = {};  // empty: DefaultProgram()
  uint32_t user = 0;         // owner of the rows it writes
  uint32_t number = 0;       // number of its queue; both appear in the process list
  // Whether what it writes to standard error is only kept as its last words. Otherwise it goes to
  // our standard error. Always false in builds with sanitizers, which report there.
  bool is_quiet = true;
  posix::Child::Wait wait = posix::Child::Wait::kForProgram;
};

// Starts a worker process that serves the other end of the channel. Tests replace it.
using StartProcess = std::function<absl::StatusOr<std::unique_ptr<WorkerProcess>>(
    const WorkerProcessOptions& options, const SupervisorEndpoint& endpoint)>;

// Starts penstock-worker.
absl::StatusOr<std::unique_ptr<WorkerProcess>> StartChildProcess(
    const WorkerProcessOptions& options, const SupervisorEndpoint& endpoint);

}  // namespace penstock::workers
