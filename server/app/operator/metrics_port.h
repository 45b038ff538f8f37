// The metrics port, if configured. Its socket is bound early, so that a port in use makes the start
// fail, and is served when everything else runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/status/collector.h"
#include "server/status/http_server.h"
#include "server/status/page/pages.h"

namespace penstock::app {

class MetricsPort {
 public:
  // Listens; nobody is answered before Serve.
  static absl::StatusOr<std::unique_ptr<MetricsPort>> Claim(const std::string& address);

  // `sources` are called until this port is destroyed; see collector.h and pages.h for their
  // threads. `pages`: unset if only /metrics is served.
  absl::Status Serve(status::Collector::Sources sources,
                     std::optional<status::Pages::Sources> pages);

  // Call it several times a second.
  void Tick(base::TimePoint now);

 private:
  explicit MetricsPort(posix::Fd listener) : listener_(std::move(listener)) {}

  posix::Fd listener_;  // until it is served
  std::unique_ptr<status::Collector> collector_;
  std::unique_ptr<status::Pages> pages_;        // null: only /metrics is served
  std::unique_ptr<status::HttpServer> server_;  // destroyed before what its thread uses
};

}  // namespace penstock::app
