// penstock-test-intruder ADDRESS KIND: abuses the doorway as a member of the daemon's group,
// without the client library. Prints the outcome as one line, then waits until it is killed.
//   unread      opens and closes sessions of "photographs" on four connections at the doorway
//               without ever reading, until opening fails, at most 2,000 times
//   places      connects until it is refused, at most 5,000 times, and keeps all connections
//   visits      connects and disconnects 5,000 times in a row
//   hoard       opens and closes ten sessions of ten sizes in a row, and keeps everything that it
//               receives mapped; prints the KiB of memory behind it
//   strangers   connects in an endless loop as fast as it can, and sends nothing
//   linger      connects 40 times, in each way in turn; passes a TCP socket that takes
//               20 s to close, and keeps no descriptor of it
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/foreign_fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/support/programs/greeting.h"
#include "tests/support/programs/lingering_socket.h"

namespace {

namespace posix = penstock::posix;
namespace shm = penstock::shm;
namespace v1 = penstock::v1;
using penstock::testing::Greeting;
using penstock::testing::SendHandshake;

constexpr int kConnections = 4, kSessions = 2'000, kVisits = 5'000;

absl::StatusOr<posix::Fd> Knock(const std::string& address) {
  return posix::Connect(address + shm::kDoorwaySuffix, posix::SocketKind::kSeqPacket);
}

v1::OpenSessionRequest SmallSession() {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  request.set_batch_size(4);
  request.set_world_size(1);
  request.set_window(2);
  request.mutable_feed()->set_dataset("photographs");
  request.mutable_feed()->set_order(v1::ORDER_SEQUENTIAL);
  auto& crop = *request.mutable_feed()->mutable_image()->mutable_random_resized_crop();
  crop.set_height(32);
  crop.set_width(32);
  return request;
}

std::unique_ptr<grpc::ClientContext> ContextWith(const std::string& ticket) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  context->AddMetadata(shm::kTicketMetadataKey, ticket);
  return context;
}

void Unread(const std::string& address) {
  const auto feed = v1::FeedService::NewStub(
      grpc::CreateChannel("unix:" + address, grpc::InsecureChannelCredentials()));
  static std::deque<posix::Fd> sockets;  // kept open
  std::vector<std::string> tickets;
  for (int i = 0; i < kConnections; ++i) {
    sockets.push_back(*Knock(address));
    tickets.push_back(SendHandshake(sockets.back(), shm::kProtocolVersion).ticket);
  }
  int opened = 0;
  grpc::Status status;
  int failures = 0;
  for (int i = 0; i < kSessions && failures < 2 * kConnections; ++i) {
    const std::string& ticket = tickets[static_cast<size_t>(i % kConnections)];
    v1::OpenSessionResponse session;
    const grpc::Status now = feed->OpenSession(ContextWith(ticket).get(), SmallSession(), &session);
    if (!now.ok()) {
      status = now;
      ++failures;
      continue;
    }
    ++opened;
    v1::CloseSessionRequest close;
    close.set_session_id(session.session_id());
    v1::CloseSessionResponse closed;
    (void)feed->CloseSession(ContextWith(ticket).get(), close, &closed);
  }
  std::printf("%d %s\n", opened, status.error_message().c_str());
}

void Places(const std::string& address) {
  static std::deque<posix::Fd> sockets;  // kept open
  std::string refusal;
  for (int i = 0; i < kVisits && refusal.empty(); ++i) {
    auto socket = Knock(address);
    if (!socket.ok()) {
      refusal = std::string(socket.status().message());
      break;
    }
    refusal = SendHandshake(*socket, shm::kProtocolVersion).refusal;
    if (refusal.empty()) sockets.push_back(*std::move(socket));
  }
  std::printf("%zu %s\n", sockets.size(), refusal.c_str());
}

void Visits(const std::string& address) {
  int visits = 0;
  std::string refusal;
  while (visits < kVisits && refusal.empty()) {
    const auto socket = Knock(address);
    refusal = socket.ok() ? SendHandshake(*socket, shm::kProtocolVersion).refusal
                          : std::string(socket.status().message());
    if (refusal.empty()) ++visits;
  }
  std::printf("%d %s\n", visits, refusal.c_str());
}

// Receives from the doorway until the deadline, and keeps everything.
void Keep(const posix::Fd& socket, std::vector<posix::Fd>& kept,
          std::vector<posix::Mapping>& maps) {
  for (;;) {
    auto message = posix::Receive(socket, shm::kMaxDoorwayBytes, std::chrono::milliseconds(300));
    if (!message.ok()) return;
    for (posix::Fd& fd : message->fds) {
      struct stat status = {};
      if (::fstat(fd.get(), &status) != 0 || message->fds.size() != 1) continue;
      auto mapping =
          posix::Mapping::Map(fd, static_cast<size_t>(status.st_size), posix::Access::kReadOnly);
      if (mapping.ok()) maps.push_back(*std::move(mapping));
      kept.push_back(std::move(fd));
    }
  }
}

void Hoard(const std::string& address) {
  const auto feed = v1::FeedService::NewStub(
      grpc::CreateChannel("unix:" + address, grpc::InsecureChannelCredentials()));
  static posix::Fd socket = *Knock(address);
  const std::string ticket = SendHandshake(socket, shm::kProtocolVersion).ticket;
  static std::vector<posix::Fd> kept;
  static std::vector<posix::Mapping> maps;
  std::string refusal;
  for (uint32_t round = 0; round < 10; ++round) {
    v1::OpenSessionRequest request = SmallSession();
    request.set_batch_size(16);
    request.set_window(16);
    auto& crop = *request.mutable_feed()->mutable_image()->mutable_random_resized_crop();
    crop.set_height(128 + round);
    crop.set_width(128);
    v1::OpenSessionResponse session;
    const grpc::Status opened = feed->OpenSession(ContextWith(ticket).get(), request, &session);
    if (!opened.ok()) refusal = opened.error_message();
    Keep(socket, kept, maps);
    v1::CloseSessionRequest close;
    close.set_session_id(session.session_id());
    v1::CloseSessionResponse closed;
    (void)feed->CloseSession(ContextWith(ticket).get(), close, &closed);
  }
  uint64_t blocks = 0;
  for (const posix::Fd& fd : kept) {
    struct stat status = {};
    if (::fstat(fd.get(), &status) == 0) blocks += static_cast<uint64_t>(status.st_blocks);
  }
  std::printf("%lu %zu segments %s\n", blocks / 2, kept.size(), refusal.c_str());
}

[[noreturn]] void Strangers(const std::string& address) {
  std::printf("0 \n");
  std::fflush(stdout);
  std::deque<posix::Fd> sockets;
  for (;;) {
    if (auto socket = Knock(address); socket.ok()) sockets.push_back(*std::move(socket));
    if (sockets.size() > 60) sockets.pop_front();
  }
}

// Sends the bytes and, with them, the only descriptor of a lingering socket.
void PassLingering(const posix::Fd& socket, std::span<const std::byte> bytes) {
  posix::Fd lingering = penstock::testing::LingeringSocket(std::chrono::seconds(20));
  const int number = lingering.get();
  (void)posix::Send(socket, bytes, {&number, 1});
  posix::MakeForeign(std::move(lingering));  // closes it: the daemon may have dropped its own
}

// Makes the daemon drop the descriptors in each way: refused, read and refused, read twice, and
// never read.
void Linger(const std::string& address) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const auto bytes = std::as_bytes(std::span(preface));
  int passed = 0;
  for (int i = 0; i < 40; ++i) {
    const bool at_door = i % 2 == 0, stays = i % 4 < 2, greets = at_door && i % 8 < 4;
    static std::deque<posix::Fd> kept;
    auto socket = at_door ? Knock(address) : posix::Connect(address, posix::SocketKind::kStream);
    if (!socket.ok()) continue;
    if (greets) (void)SendHandshake(*socket, shm::kProtocolVersion);
    PassLingering(*socket, bytes);
    ++passed;
    if (stays) kept.push_back(*std::move(socket));
  }
  std::printf("%d \n", passed);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string address = argv[1], kind = argv[2];
  if (kind == "unread") Unread(address);
  if (kind == "places") Places(address);
  if (kind == "visits") Visits(address);
  if (kind == "hoard") Hoard(address);
  if (kind == "strangers") Strangers(address);
  if (kind == "linger") Linger(address);
  std::fflush(stdout);
  for (;;) ::pause();
}
