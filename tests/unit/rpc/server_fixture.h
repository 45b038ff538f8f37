// A server on its own socket with a fake controller, and a client's stubs.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/admin.grpc.pb.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "server/rpc/server.h"
#include "tests/unit/rpc/fake_controller.h"

namespace penstock::rpc {

inline constexpr char kTicket[] = "000102030405060708090a0b0c0d0e0f";

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    char name[] = "/tmp/penstock-rpc-XXXXXX";
    PENSTOCK_CHECK(::mkdtemp(name) != nullptr);
    directory_ = name;
    path_ = directory_ + "/socket";
    Serve({.max_connections = 8, .shutdown_timeout = std::chrono::milliseconds(50)});
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Serve(const ServerOptions& options) {
    server_.reset();
    auto listener = posix::Listen(path_, posix::SocketKind::kStream);
    PENSTOCK_CHECK(listener.ok());
    auto server = Server::Start({.trainers = *std::move(listener)}, controller_, options);
    PENSTOCK_CHECK(server.ok());
    server_ = *std::move(server);
    // Its own connection: gRPC shares connections between channels with equal arguments.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ =
        grpc::CreateCustomChannel("unix:" + path_, grpc::InsecureChannelCredentials(), arguments);
    feed_ = v1::FeedService::NewStub(channel_);
    admin_ = v1::AdminService::NewStub(channel_);
  }

  static std::unique_ptr<grpc::ClientContext> Context(const std::string& ticket = kTicket) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    if (!ticket.empty()) context->AddMetadata(shm::kTicketMetadataKey, ticket);
    return context;
  }

  static v1::OpenSessionRequest GoodRequest(const std::string& dataset) {
    v1::OpenSessionRequest request;
    request.set_protocol_version(shm::kProtocolVersion);
    request.set_batch_size(32);
    request.mutable_feed()->set_dataset(dataset);
    request.mutable_feed()->set_order(v1::ORDER_SHUFFLED);
    auto& crop = *request.mutable_feed()->mutable_image()->mutable_random_resized_crop();
    crop.set_height(224);
    crop.set_width(160);
    return request;
  }

  std::pair<grpc::Status, std::vector<v1::GetTraceResponse>> Trace(uint32_t ms) {
    const auto context = Context();
    v1::GetTraceRequest request;
    request.set_duration_ms(ms);
    const auto reader = admin_->GetTrace(context.get(), request);
    std::vector<v1::GetTraceResponse> pieces;
    for (v1::GetTraceResponse piece; reader->Read(&piece);) pieces.push_back(piece);
    return {reader->Finish(), pieces};
  }

  grpc::Status Open(const v1::OpenSessionRequest& request, const std::string& ticket = kTicket) {
    return feed_->OpenSession(Context(ticket).get(), request, &granted_);
  }

  // Sends one message and returns the answer, for services whose messages this program doesn't
  // know.
  std::string Call(const std::string& method, const std::string& request) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    const auto context = Context();
    const auto call = stub.PrepareCall(context.get(), method, &queue);
    const auto step = [&] {
      void* tag;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    grpc::Slice slice(request);
    grpc::ByteBuffer answer;
    call->StartCall(nullptr);
    if (!step()) return "cannot start";
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    if (!step()) return "cannot write";
    call->WritesDone(nullptr);
    if (!step()) return "cannot end writing";
    call->Read(&answer, nullptr);
    const bool read = step();
    grpc::Status status;
    call->Finish(&status, nullptr);
    step();
    if (!read) return status.error_message();
    grpc::Slice bytes;
    PENSTOCK_CHECK(answer.DumpToSingleSlice(&bytes).ok());
    return std::string(bytes.begin(), bytes.end());
  }

  // grpc.health.v1: HealthCheckRequest.service is field 1, HealthCheckResponse.status field 1.
  std::string Health(const std::string& service) {
    std::string request = "\x0a";
    request += static_cast<char>(service.size());
    return Call("/grpc.health.v1.Health/Check", request + service);
  }

  bool WaitFor(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  std::string directory_;
  std::string path_;
  FakeController controller_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::FeedService::Stub> feed_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  v1::OpenSessionResponse granted_;
};

}  // namespace penstock::rpc
