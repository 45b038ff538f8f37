// Tests the sandboxes at the daemon's start: one probe of each program that reads untrusted bytes,
// all at the same time, while the daemon's other parts start.
//
// **Ownership**: owned by the daemon while it starts. **Thread safety**: the daemon's main thread,
// because a probe ends with the thread that started it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/sandbox/probe/sandbox_probe.h"
#include "penstock/config/v1/config.pb.h"

namespace penstock::app {

// For status and metrics: what all sandboxes consist of.
struct SandboxSummary {
  std::string text = "off";  // workers.sandbox: off
  bool filters_calls = false;
};

class SandboxProofs {
 public:
  // Starts the probes; with `workers.sandbox: off` none. **Errors**: those of SandboxProbe::Start.
  static absl::StatusOr<SandboxProofs> Start(const config::v1::Config& config);

  // Waits for them. **Errors**: those of SandboxProbe::Finish. The daemon must not serve then.
  absl::StatusOr<SandboxSummary> Finish();

 private:
  std::vector<std::unique_ptr<sandbox::SandboxProbe>> probes_;
};

// Pure. **Requires**: there is one.
SandboxSummary Weakest(const std::vector<sandbox::SandboxReport>& reports);

}  // namespace penstock::app
