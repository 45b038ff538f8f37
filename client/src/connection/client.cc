// Client: connects, describes datasets, opens sessions.
#include <algorithm>
#include <utility>

#include "client/src/connection/connector.h"
#include "client/src/connection/deadline.h"
#include "client/src/connection/negotiation.h"
#include "client/src/connection/request.h"
#include "client/src/core/convert.h"
#include "client/src/core/fields.h"
#include "client/src/core/fork.h"
#include "client/src/gpu/cuda_gpu.h"
#include "client/src/gpu/device_choice.h"
#include "client/src/session/session_core.h"
#include "penstock/penstock.h"

namespace penstock {

struct Client::Impl {
  uint32_t generation;  // fork generation
  // Shared with the openers of its sessions, which reconnect through it.
  std::shared_ptr<client::Connector> connector;
};

namespace {

constexpr size_t kIdsACall = 4096;  // the daemon's limit

// Opens one session's feed through the client's current connection. What the first call learns
// about the device holds for all later ones: a session does not move between GPU and host.
class GrpcOpener final : public client::Opener {
 public:
  GrpcOpener(std::shared_ptr<client::Connector> connector, SessionOptions options,
             client::DeliveryRequest request, client::GpuPlaces places)
      : connector_(std::move(connector)),
        options_(std::move(options)),
        places_(std::move(places)),
        request_(std::move(request)) {}

  absl::StatusOr<client::Opened> Open(const std::optional<State>& state, uint64_t epochs,
                                      base::TimePoint deadline) override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<client::Connection> connection,
                              connector_->Get());
    uint64_t given_order = 0;
    if (options_.given != nullptr) {
      PENSTOCK_ASSIGN_OR_RETURN(given_order, connection->SendOrder(*options_.given, deadline));
    }
    PENSTOCK_ASSIGN_OR_RETURN(
        client::Opened opened, client::Negotiate(request_, [&](const client::Ask& ask) {
          v1::OpenSessionRequest request = client::MakeOpenRequest(options_, state, epochs);
          request.mutable_feed()->set_given_order(given_order);
          client::AskFor(ask, DeviceRequest(), request);
          if (!places_.makers.empty())
            client::AskForFiles(options_, places_.makers.front()->version(), request);
          return connection->Open(request, ask, places_, deadline);
        }));
    const client::Grant& grant = opened.attachment->grant();
    request_.or_host = false;
    if (grant.delivery == Delivery::kHost) {
      request_.on_device = false;
      request_.reason = grant.reason;
    }
    return opened;
  }

  absl::StatusOr<uint64_t> Quarantined() override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<client::Connection> connection,
                              connector_->Get());
    return connection->Quarantined(options_.dataset);
  }

  uint64_t DecoderBytes() const override {
    return SumOf([](const client::Gpu::Rows& maker) { return maker.bytes(); });
  }
  uint64_t RowsReplaced() const override {
    return SumOf([](const client::Gpu::Rows& maker) { return maker.replaced(); });
  }

 private:
  template <typename Count>
  uint64_t SumOf(Count count) const {
    uint64_t sum = 0;
    for (const auto& maker : places_.makers) sum += count(*maker);
    return sum;
  }
  client::DeviceRequest DeviceRequest() const {
    return {places_.gpu == nullptr ? cuda::Uuid() : places_.gpu->uuid(), options_.device_depth};
  }

  const std::shared_ptr<client::Connector> connector_;
  const SessionOptions options_;
  const client::GpuPlaces places_;  // shared with opened sessions
  client::DeliveryRequest request_;
};

absl::StatusOr<std::unique_ptr<GrpcOpener>> MakeOpener(std::shared_ptr<client::Connector> connector,
                                                       const SessionOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(client::DeviceChoice choice,
                            client::ChooseDevice(options, client::LookForDevices));
  std::shared_ptr<client::Gpu> gpu;  // shared by the session and its batches
  if (choice.device) {
    absl::StatusOr<std::shared_ptr<client::Gpu>> opened = client::OpenGpu(*choice.device);
    if (!opened.ok() && !choice.or_host) return opened.status();
    if (!opened.ok())
      choice.reason = std::string(opened.status().message());
    else
      gpu = *std::move(opened);
  }
  client::DeliveryRequest request = {gpu != nullptr, choice.or_host, options.delivery,
                                     options.handle, choice.reason};
  client::GpuPlaces places = {.gpu = std::move(gpu), .depth = options.device_depth};
  if (options.gpu_decoding) {
    if (places.gpu == nullptr)
      return absl::FailedPreconditionError(
          absl::StrCat("gpu_decoding: no GPU to decode on: ", choice.reason));
    PENSTOCK_ASSIGN_OR_RETURN(places.makers,
                              places.gpu->MakeRowMakers(options.gpu_decoding->nvjpeg));
    request.delivery = Delivery::kPinned;
    request.or_host = false;
  }
  return std::make_unique<GrpcOpener>(std::move(connector), options, std::move(request),
                                      std::move(places));
}

std::optional<SampleExtent> ToExtent(const v1::SampleDescription& sample) {
  if (!sample.has_offset()) return std::nullopt;
  return SampleExtent{sample.file().empty() ? sample.path() : sample.file(), sample.offset(),
                      sample.bytes()};
}

Shape ToRowShape(const v1::DescribeDatasetResponse& dataset) {
  if (!dataset.has_row_shape()) return {};
  const v1::RowShape& shape = dataset.row_shape();
  return {1, shape.height(), shape.width(), shape.channels()};
}

std::vector<Field> ToFields(const v1::DescribeDatasetResponse& dataset) {
  std::vector<Field> fields;
  for (const v1::Field& field : dataset.fields()) fields.push_back(client::ToField(field));
  return fields;
}

Status ClientMovedFrom() {
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
  if (impl_ == nullptr) return ClientMovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  if (const absl::Status order = client::CheckOrder(options); !order.ok()) {
    return client::ToPublic(order);
  }
  if (const absl::Status decoding = client::CheckGpuDecoding(options); !decoding.ok()) {
    return client::ToPublic(decoding);
  }
  if (const absl::Status python = client::CheckPython(options); !python.ok()) {
    return client::ToPublic(python);
  }
  absl::StatusOr<std::unique_ptr<GrpcOpener>> opener = MakeOpener(impl_->connector, options);
  if (!opener.ok()) return client::ToPublic(opener.status());
  absl::StatusOr<client::Opened> opened =
      (*opener)->Open(options.state, options.epochs, client::DeadlineAfter(options.open_timeout));
  if (!opened.ok()) return client::ToPublic(opened.status());
  return Session(std::make_unique<client::SessionCore>(
      *std::move(opener), *std::move(opened),
      client::SessionCore::Begin{.start = options.state,
                                 .epochs = options.epochs,
                                 .seed = client::SeedOf(options),
                                 .ranks_differ = options.remainder == Remainder::kPartial}));
}

Result<DatasetInfo> Client::Describe(const std::string& dataset) {
  if (impl_ == nullptr) return ClientMovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  const absl::StatusOr<std::shared_ptr<client::Connection>> connection = impl_->connector->Get();
  if (!connection.ok()) return client::ToPublic(connection.status());
  const absl::StatusOr<v1::DescribeDatasetResponse> response = (*connection)->Describe(dataset);
  if (!response.ok()) return client::ToPublic(response.status());
  return DatasetInfo{response->name(),
                     response->samples(),
                     {response->classes().begin(), response->classes().end()},
                     response->kind(),
                     ToRowShape(*response),
                     ToFields(*response),
                     response->decoded(),
                     response->labeled(),
                     response->first_sample(),
                     response->epoch_samples(),
                     response->digest()};
}

Result<std::string> Client::ContentDigest(const std::string& dataset) {
  if (impl_ == nullptr) return ClientMovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  const absl::StatusOr<std::shared_ptr<client::Connection>> connection = impl_->connector->Get();
  if (!connection.ok()) return client::ToPublic(connection.status());
  absl::StatusOr<std::string> digest = (*connection)->ContentDigest(dataset);
  if (!digest.ok()) return client::ToPublic(digest.status());
  return *std::move(digest);
}

Result<BadSamples> Client::Bad(const std::string& dataset) {
  if (impl_ == nullptr) return ClientMovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  const absl::StatusOr<std::shared_ptr<client::Connection>> connection = impl_->connector->Get();
  if (!connection.ok()) return client::ToPublic(connection.status());
  absl::StatusOr<BadSamples> bad = (*connection)->Bad(dataset);
  if (!bad.ok()) return client::ToPublic(bad.status());
  return *std::move(bad);
}

Result<std::vector<SampleInfo>> Client::Samples(const std::string& dataset,
                                                std::span<const uint64_t> ids) {
  if (impl_ == nullptr) return ClientMovedFrom();
  if (client::ForkedSince(impl_->generation)) return client::ForkedStatus();
  const absl::StatusOr<std::shared_ptr<client::Connection>> connection = impl_->connector->Get();
  if (!connection.ok()) return client::ToPublic(connection.status());
  std::vector<SampleInfo> samples;
  samples.reserve(ids.size());
  while (!ids.empty()) {
    const std::span<const uint64_t> some = ids.first(std::min(ids.size(), kIdsACall));
    const auto response = (*connection)->DescribeSamples(dataset, some);
    if (!response.ok()) return client::ToPublic(response.status());
    for (const v1::SampleDescription& sample : response->samples())
      samples.push_back({sample.path(), sample.label(), ToExtent(sample)});
    ids = ids.subspan(some.size());
  }
  return samples;
}

const std::string& Client::address() const {
  static const std::string none;
  return impl_ == nullptr ? none : impl_->connector->address();
}

bool Client::is_private() const { return impl_ != nullptr && impl_->connector->is_private(); }

}  // namespace penstock
