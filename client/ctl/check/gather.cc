// Gathers the facts of facts.h: from this machine, and what the kernel says about the listening
// daemon.
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/check/facts.h"
#include "client/ctl/check/probes.h"
#include "client/src/connection/address.h"
#include "common/dataset/dataset_place.h"
#include "common/posix/process.h"
#include "common/posix/socket.h"
#include "common/shm/operators_socket.h"

namespace penstock::ctl {
namespace {

constexpr std::chrono::seconds kFilesWithin(3);  // enough for a file server that is up

// The directory in which a daemon of this user would listen.
std::string SocketDirectory(const client::Surroundings& around) {
  if (around.user == 0) return around.system_directory + "/penstock";
  if (!around.xdg_runtime_dir.empty()) return around.xdg_runtime_dir + "/penstock";
  return absl::StrCat(around.temporary_directory, "/penstock-", around.user);
}

std::string NameOfUser(uid_t user) {
  std::array<char, 16384> buffer;
  passwd entry{}, *found = nullptr;
  const bool known =
      ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? entry.pw_name : absl::StrCat(user);
}

std::string NameOfGroup(gid_t group) {
  std::array<char, 16384> buffer;
  ::group entry{}, *found = nullptr;
  const bool known =
      ::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? entry.gr_name : absl::StrCat(group);
}

Identity OurIdentity() {
  Identity identity{.user = ::geteuid(), .group = ::getegid(), .groups = {}};
  const int count = ::getgroups(0, nullptr);
  if (count <= 0) return identity;
  identity.groups.resize(static_cast<size_t>(count));
  const int got = ::getgroups(count, identity.groups.data());
  identity.groups.resize(static_cast<size_t>(std::max(0, got)));
  return identity;
}

// Nothing if there is no socket. If we may not even look at it, describes the folder that stops us.
std::optional<SocketFacts> LookAtSocket(const std::string& socket) {
  struct stat status;
  std::string path = socket;
  int failed = ::stat(path.c_str(), &status);
  if (failed != 0 && errno == EACCES) {
    path = socket.substr(0, socket.rfind('/'));
    failed = ::stat(path.c_str(), &status);
  }
  if (failed != 0 || (path == socket && !S_ISSOCK(status.st_mode))) return std::nullopt;
  const Identity we = OurIdentity();
  const bool member = we.group == status.st_gid || std::find(we.groups.begin(), we.groups.end(),
                                                             status.st_gid) != we.groups.end();
  return SocketFacts{.path = path,
                     .owner = NameOfUser(status.st_uid),
                     .group = NameOfGroup(status.st_gid),
                     .mode = status.st_mode & 07777,
                     .caller = we,
                     .caller_name = NameOfUser(we.user),
                     .caller_is_member = member,
                     .caller_is_owner = we.user == status.st_uid,
                     .for_operators = path == socket && shm::IsForOperators(path)};
}

// The process that listens there, as the kernel reports it.
absl::StatusOr<posix::Credentials> ListenerOf(const std::string& address) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd socket,
                            posix::Connect(address, posix::SocketKind::kStream));
  return posix::PeerCredentials(socket);
}

absl::StatusOr<DaemonFacts> LookAtDaemon(const std::string& address,
                                         const client::Surroundings& around) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string found, client::FindDaemon(address, around));
  DaemonFacts daemon{.address = found};
  const auto listener = ListenerOf(found);
  if (!listener.ok()) return daemon;
  daemon.user = listener->uid;
  if (listener->pid != 0) daemon.process = ReadProcess(listener->pid);
  return daemon;
}

bool SeesTheSameFiles(const Facts& facts) {
  if (!facts.daemon.ok() || !facts.daemon->process) return false;
  const auto &ours = facts.self.namespaces, &theirs = facts.daemon->process->namespaces;
  // If we may not see the daemon's namespaces, assumes ours: such a daemon is this user's or the
  // system's, and seldom in a container.
  return ours.count("mnt") == 0 || theirs.count("mnt") == 0 || ours.at("mnt") == theirs.at("mnt");
}

absl::Status ToStatus(const v1::DatasetPlace& place) {
  switch (place.sight()) {
    case v1::DatasetPlace::SIGHT_READABLE:
      return absl::OkStatus();
    case v1::DatasetPlace::SIGHT_MISSING:
      return absl::NotFoundError(place.error());
    case v1::DatasetPlace::SIGHT_CLOSED:
      return absl::PermissionDeniedError(place.error());
    case v1::DatasetPlace::SIGHT_SILENT:
      return absl::DeadlineExceededError(place.error());
    default:
      return absl::UnavailableError(place.error());
  }
}

// A daemon of an earlier version does not look itself. Then this process does, if it sees the same
// files.
Root LookAtRoot(const v1::DatasetStatus& dataset, const Facts& facts) {
  Root root{.dataset = dataset.name(),
            .place = dataset::PlaceOfDataset(dataset.kind(), dataset.path())};
  if (dataset.has_place()) {
    root.place = dataset.place().path();
    root.walk = ToStatus(dataset.place());
    root.file_system = dataset.place().file_system();
    root.as_daemon = true;
    return root;
  }
  root.as_daemon = SeesTheSameFiles(facts);
  if (root.place.empty()) return root;
  if (!root.as_daemon) return root;
  const absl::StatusOr<Walk> walk = WalkWithin(kFilesWithin, root.place);
  root.walk = walk.status();
  const Mount* mount = MountOf(facts.self.mounts, walk.ok() ? walk->steps.back().path : root.place);
  if (mount != nullptr) root.file_system = mount->type;
  if (walk.ok()) root.walk = MayGo(*walk, facts.daemon->process->identity.value_or(Identity{}));
  return root;
}

}  // namespace

Facts GatherFacts(const std::string& address, const std::string& config) {
  const client::Surroundings around = client::OurSurroundings();
  Facts facts;
  facts.system = ReadSystem();
  facts.self = ReadProcess(0);
  facts.simd = Simd();
  facts.memfd = TryMemfd();
  facts.pidfd = posix::OpenPidfd(::getpid()).status();
  facts.peer_pidfd = TryPeerPidfd();
  facts.gpus = cuda::Devices();
  facts.cuda_versions = cuda::Versions();
  facts.daemon = LookAtDaemon(address, around);
  if (!config.empty()) {
    const auto running = facts.daemon.ok() ? facts.daemon->process : std::nullopt;
    facts.config = {config, TryConfig(config, running)};
  }
  const std::string given = address.empty() ? around.penstock_address : address;
  std::string at = around.system_directory + "/penstock/penstock.sock";
  if (absl::StartsWith(given, "/")) at = given;
  if (facts.daemon.ok()) at = facts.daemon->address;
  facts.socket = LookAtSocket(at);
  facts.socket_directory =
      facts.daemon.ok() ? at.substr(0, at.rfind('/')) : SocketDirectory(around);
  facts.directory = TrySocketDirectory(facts.socket_directory,
                                       facts.daemon.ok() ? facts.daemon->user : around.user);
  return facts;
}

void AddAnswers(const absl::StatusOr<v1::GetStatusResponse>& status,
                const absl::StatusOr<v1::ListDatasetsResponse>& datasets, Facts& facts) {
  if (!facts.daemon.ok()) return;
  DaemonFacts& daemon = *facts.daemon;
  daemon.serving = status.status();
  if (status.ok()) {
    daemon.version = status->version();
    daemon.pool_bytes = status->pool().max_bytes();
    daemon.pool_made_bytes = status->pool().segment_bytes();
    if (!status->serving())
      daemon.serving = absl::UnavailableError(absl::StrCat("not serving: ", status->reason()));
  }
  if (!datasets.ok()) return;
  for (const v1::DatasetStatus& dataset : datasets->datasets())
    facts.roots.push_back(LookAtRoot(dataset, facts));
}

}  // namespace penstock::ctl
