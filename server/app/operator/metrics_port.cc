#include "server/app/operator/metrics_port.h"

#include <utility>

#include "common/posix/tcp_listener.h"

namespace penstock::app {
namespace {

// Pending scrapes; beyond this, the kernel makes clients retry.
constexpr int kBacklog = 128;

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsPort>> MetricsPort::Claim(const std::string& address) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::TcpAddress at, posix::ParseTcpAddress(address));
  absl::StatusOr<posix::Fd> listener = posix::ListenTcp(at, kBacklog);
  if (!listener.ok()) return base::Annotate(listener.status(), "server.metrics_address");
  return std::unique_ptr<MetricsPort>(new MetricsPort(*std::move(listener)));
}

absl::Status MetricsPort::Serve(status::Collector::Sources sources) {
  collector_ = std::make_unique<status::Collector>(std::move(sources));
  const auto page = [this](const status::HttpCounts& counts, const status::PageForm& form) {
    return collector_->Page({.answered = counts.answered,
                             .refused = counts.refused,
                             .dropped = counts.dropped,
                             .snapshot_age = {}},
                            form);
  };
  PENSTOCK_ASSIGN_OR_RETURN(server_, status::HttpServer::Start(std::move(listener_), page, {}));
  return absl::OkStatus();
}

}  // namespace penstock::app
