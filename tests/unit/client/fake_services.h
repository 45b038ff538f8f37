// A daemon as a client sees it: a doorway and services on a real socket, with one session of a
// FakeDaemon. The test chooses the answers.
#pragma once

#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/admin.grpc.pb.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {

struct Answers {
  uint32_t protocol_version = shm::kProtocolVersion, oldest_protocol_version = 0;
  std::string refusal = {};            // at the doorway; empty: welcome
  grpc::Status open = grpc::Status();  // the result of OpenSession
  grpc::Status send_order = grpc::Status();
  bool send_descriptors = true;
};

class FakeServices final : public v1::FeedService::Service {
 public:
  FakeServices(const std::string& address, FakeDaemon& daemon, const Answers& answers = {})
      : daemon_(daemon), answers_(answers) {
    listener_ = posix::Listen(address + shm::kDoorwaySuffix, posix::SocketKind::kSeqPacket).value();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    builder.RegisterService(&admin_);
    server_ = builder.BuildAndStart();
    door_ = std::thread([this] { RunDoor(); });
  }
  ~FakeServices() override {
    stopping_ = true;
    door_.join();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void GiveSegmentUp() {
    shm::DoorwaySegment segment{};
    segment.header = Header(shm::DoorwayKind::kSegmentGone);
    segment.segment = kSegmentId;
    Send(*guest_, segment, {});
  }

  // What the client sent.
  std::string client, ticket;
  std::vector<v1::OpenSessionRequest> opened;
  std::vector<std::vector<uint64_t>> orders;
  std::vector<int> described;  // number of samples in each call
  std::vector<v1::ReportUndecodableRequest> reported;
  std::atomic<int> closed{0};

 private:
  class Admin final : public v1::AdminService::Service {
    grpc::Status ListQuarantine(grpc::ServerContext*, const v1::ListQuarantineRequest*,
                                v1::ListQuarantineResponse* response) override {
      response->add_entries();
      response->set_total(2);
      return grpc::Status::OK;
    }
  };

  void RunDoor() {
    while (!stopping_) {
      pollfd entry{.fd = listener_.get(), .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, 5);
      auto guest = posix::Accept(listener_);
      if (guest.ok() && *guest != nullptr) Greet(*std::move(guest));
    }
  }

  void Greet(posix::ForeignFd guest) {
    const auto handshake = posix::Receive(*guest, shm::kMaxDoorwayBytes, std::chrono::seconds(5));
    if (!handshake.ok()) return;  // the client only checked that somebody listens
    const base::MutexLock lock(mutex_);
    client = reinterpret_cast<const shm::DoorwayHandshake*>(handshake->bytes.data())->client;
    if (!answers_.refusal.empty()) {
      shm::DoorwayRefused refused{};
      refused.header = Header(shm::DoorwayKind::kRefused);
      refused.code = static_cast<uint32_t>(absl::StatusCode::kPermissionDenied);
      answers_.refusal.copy(refused.reason, sizeof(refused.reason) - 1);
      Send(*guest, refused, {});
      return;
    }
    shm::DoorwayWelcome welcome{};
    welcome.header = Header(shm::DoorwayKind::kWelcome);
    for (int i = 0; i < 16; ++i) welcome.ticket[i] = static_cast<unsigned char>(16 * i + i);
    Send(*guest, welcome, {});
    guest_ = std::move(guest);
  }

  static shm::DoorwayHeader Header(shm::DoorwayKind kind) {
    return {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
  }
  template <typename Struct>
  static void Send(const posix::Fd& to, const Struct& message, const std::vector<int>& fds) {
    (void)posix::Send(to, std::as_bytes(std::span(&message, 1)), fds);
  }

  void SendDescriptors(uint64_t session_id) {
    shm::DoorwaySegment segment{};
    segment.header = Header(shm::DoorwayKind::kSegment);
    segment.segment = kSegmentId;
    segment.bytes = posix::SizeOf(daemon_.memory()).value();
    Send(*guest_, segment, {daemon_.memory().get()});
    shm::DoorwaySession session{};
    session.header = Header(shm::DoorwayKind::kSession);
    session.session_id = session_id;
    session.control_bytes = shm::kControlBytes;
    Send(*guest_, session, {daemon_.control().get(), daemon_.event().get()});
  }

  grpc::Status GetVersion(grpc::ServerContext*, const v1::GetVersionRequest*,
                          v1::GetVersionResponse* response) override {
    response->set_protocol_version(answers_.protocol_version);
    response->set_oldest_protocol_version(answers_.oldest_protocol_version);
    response->set_daemon_version("9.8.7");
    return grpc::Status::OK;
  }

  grpc::Status DescribeDataset(grpc::ServerContext*, const v1::DescribeDatasetRequest* request,
                               v1::DescribeDatasetResponse* response) override {
    if (request->dataset() != "birds") {
      return {grpc::StatusCode::NOT_FOUND, "no dataset 'fish'; there is: birds"};
    }
    response->set_name("birds");
    response->set_samples(100);
    response->add_classes("crow");
    return grpc::Status::OK;
  }

  grpc::Status DescribeSamples(grpc::ServerContext*, const v1::DescribeSamplesRequest* request,
                               v1::DescribeSamplesResponse* response) override {
    const base::MutexLock lock(mutex_);
    described.push_back(request->sample_ids_size());
    for (const uint64_t id : request->sample_ids()) {
      if (id >= 10'000) return {grpc::StatusCode::INVALID_ARGUMENT, "there is no such sample"};
      v1::SampleDescription& sample = *response->add_samples();
      sample.set_path("/birds/" + std::to_string(id));
      sample.set_label(static_cast<int64_t>(id % 7));
      if (id % 3 == 0) continue;
      sample.set_offset(id % 3 == 1 ? 0 : 512);
      sample.set_bytes(id);
      if (id % 3 == 2) sample.set_file("/birds.tar");
    }
    return grpc::Status::OK;
  }

  grpc::Status SendOrder(grpc::ServerContext*, grpc::ServerReader<v1::SendOrderRequest>* reader,
                         v1::SendOrderResponse* response) override {
    std::vector<uint64_t> order;
    uint64_t length = 0;
    for (v1::SendOrderRequest part; reader->Read(&part);) {
      length += part.length();
      order.insert(order.end(), part.samples().begin(), part.samples().end());
    }
    const base::MutexLock lock(mutex_);
    if (order.size() != length) return {grpc::StatusCode::INVALID_ARGUMENT, "another length"};
    if (!answers_.send_order.ok()) return answers_.send_order;
    orders.push_back(std::move(order));
    response->set_order(100 + orders.size());
    return grpc::Status::OK;
  }

  grpc::Status OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                           v1::OpenSessionResponse* response) override {
    const base::MutexLock lock(mutex_);
    const auto sent = context->client_metadata().find(shm::kTicketMetadataKey);
    if (sent != context->client_metadata().end()) {
      ticket.assign(sent->second.data(), sent->second.size());
    }
    opened.push_back(*request);
    if (!answers_.open.ok()) return answers_.open;
    const Grant grant = SmallGrant();
    response->set_session_id(grant.session_id);
    response->set_fingerprint(grant.fingerprint);
    response->set_delivery(v1::DELIVERY_HOST);
    response->set_row_bytes(grant.row_bytes);
    response->set_height(grant.height);
    response->set_width(grant.width);
    response->set_channels(grant.channels);
    response->set_labels_offset(grant.labels_offset);
    response->set_ids_offset(grant.ids_offset);
    response->set_slot_bytes(grant.slot_bytes);
    response->set_samples(grant.samples);
    response->set_epoch_samples(grant.epoch_samples);
    response->set_classes(grant.classes);
    response->set_first_epoch_batches(grant.first_epoch_batches);
    response->set_epoch_batches(grant.epoch_batches);
    if (answers_.send_descriptors) SendDescriptors(grant.session_id);
    return grpc::Status::OK;
  }

  grpc::Status ReportUndecodable(grpc::ServerContext*, const v1::ReportUndecodableRequest* request,
                                 v1::ReportUndecodableResponse*) override {
    const base::MutexLock lock(mutex_);
    reported.push_back(*request);
    return grpc::Status::OK;
  }

  grpc::Status CloseSession(grpc::ServerContext*, const v1::CloseSessionRequest*,
                            v1::CloseSessionResponse*) override {
    ++closed;
    return grpc::Status::OK;
  }

  FakeDaemon& daemon_;
  const Answers answers_;
  Admin admin_;
  base::Mutex mutex_;
  posix::Fd listener_;
  posix::ForeignFd guest_;
  std::unique_ptr<grpc::Server> server_;
  std::atomic<bool> stopping_{false};
  std::thread door_;
};

}  // namespace penstock::client
