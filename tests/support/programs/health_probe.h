// Calls gRPC's health service over TCP like Kubernetes' probes, using only what the protocol
// requires (grpc/health/v1/health.proto).
#pragma once

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "common/posix/fd.h"

namespace penstock::testing {

// A port that was free a moment ago.
inline int FreePort() {
  posix::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 0;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

// Returns "SERVING", "NOT_SERVING", or an error. `service`: "" for the whole daemon.
inline std::string HealthAt(int port, const std::string& service = "") {
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  grpc::CompletionQueue queue;
  // Field 1 is the name, of less than 128 bytes.
  const grpc::Slice message(
      service.empty() ? "" : "\x0a" + std::string(1, static_cast<char>(service.size())) + service);
  const grpc::ByteBuffer request(&message, 1);
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return status.error_message();
  std::vector<grpc::Slice> slices;
  if (!answer.Dump(&slices).ok()) return "no answer";
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  // Field 1 is a varint: 1 means SERVING, 2 NOT_SERVING.
  if (bytes == std::string("\x08\x01", 2)) return "SERVING";
  return bytes == std::string("\x08\x02", 2) ? "NOT_SERVING" : "something else";
}

}  // namespace penstock::testing
