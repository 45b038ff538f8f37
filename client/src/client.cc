// Client: connects, describes, opens sessions. In a forked child nothing of it is touched.
#include <utility>

#include "client/src/connector.h"
#include "client/src/convert.h"
#include "client/src/fork.h"
#include "client/src/request.h"
#include "client/src/session_core.h"
#include "penstock/penstock.h"

namespace penstock {

struct Client::Impl {
  uint32_t generation;  // of forks
  // Shared with the openers of its sessions, which connect again by it.
  std::shared_ptr<client::Connector> connector;
};

namespace {

// Opens one session's feed through the client's current connection.
class GrpcOpener final : public client::Opener {
 public:
  GrpcOpener(std::shared_ptr<client::Connector> connector, SessionOptions options)
      : connector_(std::move(connector)), options_(std::move(options)) {}

  absl::StatusOr<client::AttachmentHold> Open(const std::optional<State>& state, uint64_t epochs,
                                              base::TimePoint deadline) override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<client::Connection> connection,
                              connector_->Get());
    return connection->Open(client::MakeOpenRequest(options_, state, epochs), deadline);
  }

  absl::StatusOr<uint64_t> Quarantined() override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<client::Connection> connection,
                              connector_->Get());
    return connection->Quarantined(options_.dataset);
  }

 private:
  const std::shared_ptr<client::Connector> connector_;
  const SessionOptions options_;
};

Status MovedFrom() {
  return Status(Code::kFailedPrecondition, "the client was moved from; use the one it moved to");
}

}  // namespace

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::Client(Client&&) noexcept = default;

Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) {
    const Client ends(std::exchange(impl_, std::move(other.impl_)));
  }
  return *this;
}

Client::~Client() {
  if (impl_ != nullptr && client::ForkedSince(impl_->generation)) (void)impl_.release();
}

Result<Client> Client::Connect(const ClientOptions& options) {
  const uint32_t generation = client::WatchForks();
  absl::StatusOr<std::shared_ptr<client::Connector>> connector = client::Connector::Make(options);
  if (!connector.ok()) return client::ToPublic(connector.status());
  return Client(std::make_unique<Impl>(Impl{generation, *std::move(connector)}));
}

Result<Session> Client::Open(const SessionOptions& options) {
  if (impl_ == nullptr) return MovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  auto opener = std::make_unique<GrpcOpener>(impl_->connector, options);
  absl::StatusOr<client::AttachmentHold> attachment =
      opener->Open(options.state, options.epochs, base::SteadyClock().Now() + options.open_timeout);
  if (!attachment.ok()) return client::ToPublic(attachment.status());
  return Session(std::make_unique<client::SessionCore>(
      std::move(opener), *std::move(attachment),
      client::SessionCore::Begin{options.state, options.epochs, client::SeedOf(options)}));
}

Result<DatasetInfo> Client::Describe(const std::string& dataset) {
  if (impl_ == nullptr) return MovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  const absl::StatusOr<std::shared_ptr<client::Connection>> connection = impl_->connector->Get();
  if (!connection.ok()) return client::ToPublic(connection.status());
  const absl::StatusOr<v1::DescribeDatasetResponse> response = (*connection)->Describe(dataset);
  if (!response.ok()) return client::ToPublic(response.status());
  return DatasetInfo{response->name(),
                     response->samples(),
                     {response->classes().begin(), response->classes().end()}};
}

const std::string& Client::address() const {
  static const std::string none;
  return impl_ == nullptr ? none : impl_->connector->address();
}

}  // namespace penstock
