#include "server/app/operator/metrics_port.h"

#include <utility>

#include "common/posix/socket.h"
#include "common/posix/tcp_listener.h"
#include "server/app/operator/page_routes.h"

namespace penstock::app {

absl::StatusOr<std::unique_ptr<MetricsPort>> MetricsPort::Claim(const std::string& address) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::TcpAddress at, posix::ParseTcpAddress(address));
  absl::StatusOr<posix::Fd> listener = posix::ListenTcp(at, posix::kLongestQueue);
  if (!listener.ok()) return base::Annotate(listener.status(), "server.metrics_address");
  return std::unique_ptr<MetricsPort>(new MetricsPort(*std::move(listener)));
}

absl::Status MetricsPort::Serve(status::Collector::Sources sources,
                                std::optional<status::Pages::Sources> pages) {
  collector_ = std::make_unique<status::Collector>(std::move(sources));
  status::HttpServer::Routes routes;
  routes["/metrics"] = [this](const status::HttpCounts& counts,
                              const status::HttpRequest& request) {
    return status::HttpPage{.body = collector_->Page({.answered = counts.answered,
                                                      .refused = counts.refused,
                                                      .dropped = counts.dropped,
                                                      .snapshot_age = {}},
                                                     request.form),
                            .content = status::MetricsContent(request.form)};
  };
  if (pages) {
    pages_ = std::make_unique<status::Pages>(*std::move(pages));
    AddPageRoutes(*pages_, routes);
  }
  PENSTOCK_ASSIGN_OR_RETURN(server_,
                            status::HttpServer::Start(std::move(listener_), std::move(routes), {}));
  return absl::OkStatus();
}

void MetricsPort::Tick(base::TimePoint now) {
  if (pages_ != nullptr) pages_->Tick(now);
}

}  // namespace penstock::app
