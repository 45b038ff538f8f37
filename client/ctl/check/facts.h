// What `penstockctl check` finds out before it grades: of this machine, of this process, of the
// daemon that answers and of its process. Plain values.
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

// The daemon's socket as the file system has it.
struct SocketFacts {
  std::string path, owner, group;  // names, or numbers that have none
  mode_t mode = 0;
  Identity caller;
  std::string caller_name;
  bool caller_is_member = false;  // of that group
  bool caller_is_owner = false;
};

// A daemon that answers.
struct DaemonFacts {
  std::string address;
  absl::Status serving;  // what it says
  std::string version;
  uint64_t pool_bytes = 0;              // that it may take
  uint64_t pool_made_bytes = 0;         // that it has
  uid_t user = 0;                       // by the kernel's word
  std::optional<ProcessFacts> process;  // nothing: not in our PID namespace
};

struct Root {
  std::string dataset, place;
  absl::Status walk;        // the way there, as the daemon's user
  std::string file_system;  // "ext4"; "": not known
  bool as_daemon = false;   // false: the daemon sees other files than we do, so nothing is known
};

struct Facts {
  SystemFacts system;
  ProcessFacts self;
  std::string simd;  // "AVX-512 VNNI", "AVX2"; empty: neither
  absl::Status memfd;
  absl::Status pidfd;
  absl::Status peer_pidfd;            // Unimplemented: the kernel has none
  std::string socket_directory;       // the daemon's, or where one of this user would listen
  absl::Status directory;             // whether it could
  std::optional<SocketFacts> socket;  // of a daemon, whether we may connect or not
  absl::StatusOr<DaemonFacts> daemon = absl::NotFoundError("");
  std::string version;                                         // ours
  std::optional<std::pair<std::string, absl::Status>> config;  // file, what penstockd says of it
  std::vector<Root> roots;                                     // of the daemon's datasets
  // Visible to this program, or why none can be used.
  absl::StatusOr<std::vector<cuda::Device>> gpus = absl::FailedPreconditionError("not looked at");
  std::string cuda_versions;

  // The daemon's process where it can be seen, else this one: one that is started here gets the
  // same.
  const ProcessFacts& process() const {
    return daemon.ok() && daemon->process.has_value() ? *daemon->process : self;
  }
};

// All but what the daemon answers. `address` as for FindDaemon; `config` empty: none is looked at.
Facts GatherFacts(const std::string& address, const std::string& config);

// What the daemon answered, put to the facts of GatherFacts: both an error when it did not.
void AddAnswers(const absl::StatusOr<v1::GetStatusResponse>& status,
                const absl::StatusOr<v1::ListDatasetsResponse>& datasets, Facts& facts);

}  // namespace penstock::ctl
