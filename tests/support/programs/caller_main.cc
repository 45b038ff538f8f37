// penstock-test-caller ADDRESS [DOOR]: calls any method of any service of the contract, as the user
// who runs it. Reads lines "METHOD JSON", with METHOD like penstock.v1.AdminService.GetStatus, and
// answers each with a line "CODE TEXT". TEXT is the response as JSON, or the error message. With
// DOOR, it first does the handshake there, and its calls carry the ticket it gets. The command
// "ticket" prints that ticket, and "ticket HEX" replaces it.
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "common/shm/protocol.h"
#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"
#include "tests/support/programs/greeting.h"

namespace penstock::testing {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr int kMostMessages = 50;  // limit per stream, because WatchStatus never ends

class Caller {
 public:
  Caller(const std::string& address, const std::string& door) : stub_(ChannelTo(address)) {
    if (door.empty()) return;
    door_.emplace(posix::Connect(door, posix::SocketKind::kSeqPacket).value());
    const Greeting greeting = SendHandshake(*door_, shm::kProtocolVersion);
    if (greeting.ticket.empty()) std::cerr << greeting.refusal << "\n";
    ticket = greeting.ticket;
  }

  std::string Call(const std::string& name, const std::string& json) {
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    const MethodDescriptor* method = pool->FindMethodByName(name);
    if (method == nullptr) return "-1 no such method";
    std::unique_ptr<Message> request = NewMessage(method->input_type());
    const auto parsed = google::protobuf::util::JsonStringToMessage(json, request.get());
    if (!parsed.ok()) return "-1 " + parsed.ToString();
    return Call(*method, request->SerializeAsString());
  }

  std::string ticket;

 private:
  static std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
    return grpc::CreateChannel("unix:" + address, grpc::InsecureChannelCredentials());
  }
  static std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
    auto* factory = google::protobuf::MessageFactory::generated_factory();
    return std::unique_ptr<Message>(factory->GetPrototype(type)->New());
  }

  bool Step() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  std::string Call(const MethodDescriptor& method, const std::string& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    if (!ticket.empty()) context.AddMetadata(shm::kTicketMetadataKey, ticket);
    const auto call = stub_.PrepareCall(
        &context, "/" + method.service()->full_name() + "/" + method.name(), &queue_);
    const grpc::Slice slice(request);
    call->StartCall(nullptr);
    if (Step()) {
      call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      if (Step()) {
        call->WritesDone(nullptr);
        Step();
      }
    }
    std::string text = ReadAll(*call, method, context);
    grpc::Status status;
    call->Finish(&status, nullptr);
    Step();
    // A stream that we cancelled after a message was served.
    const bool served = status.ok() || (gave_up_ && !text.empty());
    if (!served) text = status.error_message();
    for (char& c : text)
      if (c == '\n') c = ' ';
    return std::to_string(served ? 0 : status.error_code()) + " " + text;
  }

  std::string ReadAll(grpc::GenericClientAsyncReaderWriter& call, const MethodDescriptor& method,
                      grpc::ClientContext& context) {
    const bool endless = method.name() == "WatchStatus" || method.name() == "Drain";
    gave_up_ = false;
    std::string text;
    for (int i = 0; i < kMostMessages; ++i) {
      grpc::ByteBuffer buffer;
      call.Read(&buffer, nullptr);
      if (!Step()) return text;
      text += TextOf(method, buffer);
      if (!endless) continue;
      gave_up_ = true;
      context.TryCancel();
      return text;
    }
    return text;
  }

  std::string TextOf(const MethodDescriptor& method, const grpc::ByteBuffer& buffer) {
    grpc::Slice slice;
    if (!buffer.DumpToSingleSlice(&slice).ok()) return "?";
    std::unique_ptr<Message> message = NewMessage(method.output_type());
    message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
    if (const auto* piece = dynamic_cast<const v1::GetTraceResponse*>(message.get()))
      return piece->text();
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    options.preserve_proto_field_names = true;
    std::string json;
    if (!google::protobuf::util::MessageToJsonString(*message, &json, options).ok()) return "?";
    return json;
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::optional<posix::Fd> door_;
  bool gave_up_ = false;
};

}  // namespace
}  // namespace penstock::testing

int main(int argc, char** argv) {
  // Forces the linker to keep the contract's messages, whichever methods are called.
  penstock::v1::GetVersionRequest::descriptor();
  penstock::v1::GetStatusRequest::descriptor();
  penstock::testing::Caller caller(argv[1], argc > 2 ? argv[2] : "");
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "ticket") {
      if (!rest.empty()) caller.ticket = rest;
      std::cout << caller.ticket << std::endl;
    } else {
      std::cout << caller.Call(word, rest) << std::endl;
    }
  }
}
