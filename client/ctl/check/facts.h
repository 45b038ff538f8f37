// The facts that `penstockctl check` gathers before it grades them: about this machine, this
// process, the daemon that answers, and its process. Plain values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/check/tree.h"
#include "client/ctl/check/walk.h"
#include "common/base/status.h"
#include "common/cuda/device.h"
#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

// The daemon's socket as the file system shows it.
struct SocketFacts {
  std::string path, owner, group;  // names, or numbers without a name
  mode_t mode = 0;
  Identity caller;
  std::string caller_name;
  bool caller_is_member = false;  // of the socket's group
  bool caller_is_owner = false;
  bool for_operators = false;  // the daemon checks there who connects
};

// A daemon that answers.
struct DaemonFacts {
  std::string address;
  absl::Status serving = {};  // its own report
  std::string version = {};
  uint64_t pool_bytes = 0;                   // the pool's maximum
  uint64_t pool_made_bytes = 0;              // the pool's current size
  uid_t user = 0;                            // as the kernel reports it
  std::optional<ProcessFacts> process = {};  // unset: not in our PID namespace
};

struct Root {
  std::string dataset, place;
  absl::Status walk = {};        // whether the daemon's user can get there
  std::string file_system = {};  // "ext4"; "": unknown
  // False: the daemon sees another file system than we do, so nothing is known.
  bool as_daemon = false;
};

struct Facts {
  SystemFacts system;
  ProcessFacts self;
  std::string simd;  // "AVX-512 VNNI", "AVX2"; empty: neither
  absl::Status memfd;
  absl::Status pidfd;
  absl::Status peer_pidfd;            // Unimplemented: not in this kernel
  std::string socket_directory;       // the daemon's, or the one that this user's daemon would use
  absl::Status directory;             // whether a daemon can use it
  std::optional<SocketFacts> socket;  // a daemon's, even if we may not connect
  absl::StatusOr<DaemonFacts> daemon = absl::NotFoundError("");
  std::string version;                                         // ours
  std::optional<std::pair<std::string, absl::Status>> config;  // file, penstockd's result
  std::vector<Root> roots;                                     // the daemon's datasets
  // GPUs that this program sees, or why it can use none.
  absl::StatusOr<std::vector<cuda::Device>> gpus = absl::FailedPreconditionError("not checked");
  std::string cuda_versions;

  // The daemon's process if it is visible, else this one: a daemon started here would get the same
  // limits.
  const ProcessFacts& process() const {
    return daemon.ok() && daemon->process.has_value() ? *daemon->process : self;
  }
};

// Gathers all facts except the daemon's answers. `address` as for FindDaemon; `config` may be
// empty.
Facts GatherFacts(const std::string& address, const std::string& config);

// Adds the daemon's answers. Both are errors if it did not answer.
void AddAnswers(const absl::StatusOr<v1::GetStatusResponse>& status,
                const absl::StatusOr<v1::ListDatasetsResponse>& datasets, Facts& facts);

}  // namespace penstock::ctl
