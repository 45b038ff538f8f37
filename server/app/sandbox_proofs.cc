#include "server/app/sandbox_proofs.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/telemetry/log.h"
#include "server/app/options.h"
#include "server/indexer/indexer_process.h"
#include "server/workers/worker_process.h"

namespace penstock::app {
namespace {

// In which the daemon may write.
std::string WritableFolder(const config::v1::Server& server) {
  if (!server.state_dir().empty()) return server.state_dir();
  return server.socket().substr(0, server.socket().rfind('/'));
}

std::vector<sandbox::SandboxProbe::Options> ToProbes(const config::v1::Config& config) {
  const std::string& worker = config.workers().program();
  const std::string folder = WritableFolder(config.server());
  return {{.program = worker.empty() ? workers::DefaultProgram() : worker,
           .whose = "workers",
           .folder = folder},
          {.program = indexer::DefaultProgram(), .whose = "indexers", .folder = folder}};
}

// The programs lie beside this one, whose place only /proc tells.
absl::Status FindPrograms() {
  if (::access("/proc/self/exe", F_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "/proc is not mounted here, and only it tells where penstockd lies, beside which "
      "penstock-worker and penstock-indexer are; mount it");
}

}  // namespace

absl::StatusOr<SandboxProofs> SandboxProofs::Start(const config::v1::Config& config) {
  SandboxProofs proofs;
  PENSTOCK_RETURN_IF_ERROR(FindPrograms());
  if (!HasSandbox(config)) {
    PENSTOCK_LOG(kWarning, "sandbox_off", {"because", "workers.sandbox"},
                 {"means", "whoever hijacks a decoder or a parser has the daemon's rights"});
    return proofs;
  }
  for (const sandbox::SandboxProbe::Options& options : ToProbes(config)) {
    PENSTOCK_ASSIGN_OR_RETURN(auto probe, sandbox::SandboxProbe::Start(options));
    proofs.probes_.push_back(std::move(probe));
  }
  return proofs;
}

absl::StatusOr<SandboxSummary> SandboxProofs::Finish() {
  if (probes_.empty()) return SandboxSummary{};
  std::vector<sandbox::SandboxReport> reports;
  for (const auto& probe : probes_) {
    PENSTOCK_ASSIGN_OR_RETURN(sandbox::SandboxReport report, probe->Finish());
    reports.push_back(std::move(report));
  }
  probes_.clear();
  return Weakest(reports);
}

SandboxSummary Weakest(const std::vector<sandbox::SandboxReport>& reports) {
  PENSTOCK_CHECK(!reports.empty());
  sandbox::SandboxReport all = {.filters_calls = true, .landlock = reports[0].landlock};
  for (const sandbox::SandboxReport& each : reports) {
    all.filters_calls = all.filters_calls && each.filters_calls;
    all.landlock = std::min(all.landlock, each.landlock);
  }
  return {.text = all.ToString(), .filters_calls = all.filters_calls};
}

}  // namespace penstock::app
