#include "tests/bench/daemon.h"

#include <fstream>
#include <thread>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/src/connection/program.h"
#include "common/base/clock.h"
#include "tests/bench/harness/interrupt.h"

namespace penstock::bench {
namespace {

constexpr base::Duration kReadyWithin = std::chrono::seconds(20);
constexpr std::chrono::milliseconds kPause(20);

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// Keeps no state, and logs only warnings and errors.
std::string Configuration(const std::string& socket, const Daemon::Serves& serves) {
  std::vector<std::string> roots;
  for (const std::string& root : serves.roots) roots.push_back(Quoted(root));
  return absl::StrCat(
      "server: {socket: ", Quoted(socket), ", group: '', state_dir: '', exit_when_idle: 60s}\n",
      "pool: {max: 512MiB}\nworkers: {count: ", serves.workers, "}\ncache: {", serves.cache,
      "}\nlog: {level: warning}\nsource: {roots: [", absl::StrJoin(roots, ", "),
      "]}\ndatasets: [{name: ", Daemon::kDataset, ", ", serves.kind, "}]\n");
}

absl::StatusOr<Client> Connect(const std::string& socket, posix::Child& daemon) {
  const base::SteadyClock clock;
  const base::TimePoint deadline = clock.Now() + kReadyWithin;
  for (;;) {
    Result<Client> client = Client::Connect({.address = socket, .name = "penstock-bench"});
    if (client.ok()) return *std::move(client);
    PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
    if (daemon.Reap()) {
      return absl::UnavailableError(
          "the benchmark's daemon exited at once; see its messages above");
    }
    if (clock.Now() > deadline) {
      return absl::UnavailableError(
          absl::StrCat("the benchmark's daemon did not answer: ", client.status().message()));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

absl::StatusOr<Daemon> Daemon::Start(const Photographs& photographs, uint32_t workers,
                                     const More& more) {
  return Start({.kind = absl::StrCat("folder: ", Quoted(photographs.folder())),
                .roots = photographs.roots(),
                .workers = workers,
                .cache = more.cache});
}

absl::StatusOr<Daemon> Daemon::Start(const Serves& serves) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string program, client::FindDaemonProgram());
  PENSTOCK_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::Make());
  const std::string socket = folder.path() + "/run/penstock.sock";
  const std::string config = folder.path() + "/penstock.yaml";
  std::ofstream file(config);
  if (!(file << Configuration(socket, serves) << std::flush)) {
    return absl::DataLossError(absl::StrCat(config, " could not be written; is the disk full?"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(posix::Child child,
                            posix::Child::Spawn({program, "--config", config}, {}));
  PENSTOCK_ASSIGN_OR_RETURN(Client client, Connect(socket, child));
  return Daemon(std::move(folder), std::move(child), std::move(client));
}

}  // namespace penstock::bench
