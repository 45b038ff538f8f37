// "penstockctl check": what would keep this machine from serving. First facts are gathered
// (check_facts.cc asks the machine, the daemon and the configuration), then graded here, purely.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cuda/device.h"
#include "common/posix/machine.h"

namespace penstock::ctl {

enum class Grade { kOk, kWarning, kProblem };

struct Finding {
  Grade grade = Grade::kOk;
  std::string what;    // "memory"
  std::string found;   // "3.1 GiB available"
  std::string remedy;  // "" when all is well
};

struct Facts {
  posix::Machine machine;
  std::string simd;  // "AVX-512 VNNI", "AVX2"; empty: neither
  absl::Status memfd;
  absl::Status pidfd;
  absl::Status peer_pidfd;  // Unimplemented: the kernel has none
  uint64_t files_soft = 0;  // RLIMIT_NOFILE
  uint64_t files_hard = 0;
  std::string socket_directory;  // where a daemon of this user would listen
  absl::Status socket;           // whether it could
  absl::StatusOr<std::string> daemon = absl::NotFoundError("");  // where one answers
  absl::Status serving;                                          // what it says
  std::optional<std::pair<std::string, absl::Status>> config;    // file, what penstockd says of it
  struct Root {
    std::string dataset, path;
    absl::Status readable;  // by us
  };
  std::vector<Root> datasets;  // of the daemon
  // Visible to this program, or why none can be used.
  absl::StatusOr<std::vector<cuda::Device>> gpus = absl::FailedPreconditionError("not looked at");
};

// `address` as for FindDaemon; `config` empty: none is looked at.
Facts GatherFacts(const std::string& address, const std::string& config);

std::vector<Finding> GradeFacts(const Facts& facts);

bool HasProblem(const std::vector<Finding>& findings);
std::string Show(const std::vector<Finding>& findings);
std::string Json(const std::vector<Finding>& findings);

}  // namespace penstock::ctl
