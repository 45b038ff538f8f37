// penstock-test-hostile-client ADDRESS ADMIN_ADDRESS SEED [WAY]: abuses a daemon until it is
// killed, as a member of the daemon's group that knows the protocol. It attacks in random ways, or
// only in WAY (0 to 9). It prints one line "BREACH …" for each attempt that succeeds but must not,
// and nothing else.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/posix/memory.h"
#include "common/posix/socket.h"
#include "common/shm/control_page.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/support/programs/greeting.h"

#ifndef F_SEAL_EXEC  // newer than Debian 12's headers
#define F_SEAL_EXEC 0x0020
#endif

namespace {

namespace posix = penstock::posix;
namespace shm = penstock::shm;
namespace v1 = penstock::v1;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongAgo(3);  // after this time the daemon has noticed

std::mt19937_64 dice;
uint64_t Pick(uint64_t limit) { return dice() % limit; }

void Breach(const std::string& what) {
  std::printf("BREACH %s\n", what.c_str());
  std::fflush(stdout);
}

std::vector<std::byte> Garbage(size_t most) {
  std::vector<std::byte> bytes(1 + Pick(most));
  for (std::byte& byte : bytes) byte = std::byte(dice());
  return bytes;
}

// ---- Descriptors ----

void TryMap(int fd, size_t bytes, const std::string& what) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return;
  Breach(what + ": mapped writable");
  munmap(at, bytes);
}

// Attacks a segment, which is read-only for clients.
void AttackSegment(int fd) {
  const size_t bytes = *posix::SizeOf(posix::Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  TryMap(fd, bytes, "segment");
  void* at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return;
  if (mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0) Breach("segment: mprotect");
  if (madvise(at, bytes, MADV_REMOVE) == 0) Breach("segment: MADV_REMOVE");
  if (void* more = mremap(at, bytes, 2 * bytes, MREMAP_MAYMOVE); more != MAP_FAILED)
    munmap(more, 2 * bytes);  // reading beyond the end would only kill this process
  else
    munmap(at, bytes);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  for (const int mode : {O_RDWR, O_WRONLY, O_RDWR | O_TRUNC})
    if (const int again = open(path.c_str(), mode | O_CLOEXEC); again >= 0) {
      Breach("segment: opened again with mode " + std::to_string(mode));
      close(again);
    }
  const char byte = 0;
  if (write(fd, &byte, 1) == 1 || pwrite(fd, &byte, 1, 0) == 1) Breach("segment: write");
  if (ftruncate(fd, 0) == 0) Breach("segment: ftruncate");
  if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0)
    Breach("segment: hole");
  if (fchmod(fd, 0777) == 0) Breach("segment: fchmod");
  for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE, F_SEAL_GROW})
    if (fcntl(fd, F_ADD_SEALS, seal) == 0) Breach("segment: seal " + std::to_string(seal));
}

// Attacks a control page, which the client may write, but not resize or seal against the daemon.
void AttackPage(int fd) {
  if (ftruncate(fd, 0) == 0 || ftruncate(fd, 1 << 20) == 0) Breach("page: ftruncate");
  for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE, F_SEAL_EXEC})
    if (fcntl(fd, F_ADD_SEALS, seal) == 0) Breach("page: seal " + std::to_string(seal));
  if (fchmod(fd, 0777) == 0) Breach("page: fchmod");
  fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}

// ---- The doorway ----

posix::Fd Knock(const std::string& address) {
  auto socket = posix::Connect(address + shm::kDoorwaySuffix, posix::SocketKind::kSeqPacket);
  return socket.ok() ? *std::move(socket) : posix::Fd();
}

void SendWithDescriptors(const posix::Fd& socket, std::span<const std::byte> bytes, size_t count) {
  alignas(cmsghdr) char space[CMSG_SPACE(253 * sizeof(int))] = {};
  iovec data = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header = {};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (count > 0) {
    header.msg_control = space;
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::vector<int> fds(count, STDERR_FILENO);
    std::memcpy(CMSG_DATA(part), fds.data(), count * sizeof(int));
  }
  (void)sendmsg(socket.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void GarbageAtTheDoorway(const std::string& address) {
  const posix::Fd socket = Knock(address);
  if (!socket.valid()) return;
  shm::DoorwayHandshake handshake = {};
  handshake.header = {
      .magic = shm::kDoorwayMagic,
      .version = Pick(3) == 0 ? static_cast<uint32_t>(dice()) : shm::kProtocolVersion,
      .kind = static_cast<shm::DoorwayKind>(1 + Pick(9)),
      .reserved = static_cast<uint32_t>(dice())};
  for (char& letter : handshake.client) letter = static_cast<char>(dice());
  const auto whole = std::as_bytes(std::span(&handshake, 1));
  switch (Pick(4)) {
    case 0:
      return SendWithDescriptors(socket, Garbage(100'000), Pick(254));
    case 1:
      return SendWithDescriptors(socket, whole.first(1 + Pick(whole.size())), Pick(254));
    case 2:
      return SendWithDescriptors(socket, {}, Pick(254));
    default:
      for (int i = 0; i < 20; ++i) SendWithDescriptors(socket, whole, Pick(254));
  }
}

// ---- The gRPC sockets ----

void GarbageAtASocket(const std::string& address) {
  auto socket = posix::Connect(address, posix::SocketKind::kStream);
  if (!socket.ok()) return;
  const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  if (Pick(4) != 0) (void)send(socket->get(), preface, sizeof(preface) - 1, MSG_NOSIGNAL);
  for (int i = 0; i < 10; ++i) {
    const auto bytes = Garbage(20'000);
    if (Pick(2) == 0) SendWithDescriptors(*socket, bytes, Pick(254));
    (void)send(socket->get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

std::unique_ptr<grpc::ClientContext> ContextWith(const std::string& ticket) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  context->AddMetadata(shm::kTicketMetadataKey, ticket);
  return context;
}

v1::OpenSessionRequest RequestOfASession() {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  request.set_batch_size(static_cast<uint32_t>(1 + Pick(16)));
  request.set_window(static_cast<uint32_t>(1 + Pick(8)));
  request.mutable_feed()->set_dataset("photographs");
  request.mutable_feed()->set_order(v1::ORDER_SHUFFLED);
  request.mutable_feed()->set_seed(dice());
  auto& crop = *request.mutable_feed()->mutable_image()->mutable_random_resized_crop();
  crop.set_height(static_cast<uint32_t>(16 + Pick(64)));
  crop.set_width(32);
  return request;
}

class Caller {
 public:
  explicit Caller(const std::string& address)
      : address_(address),
        feed_(v1::FeedService::NewStub(
            grpc::CreateChannel("unix:" + address, grpc::InsecureChannelCredentials()))) {}

  void ForgeTickets() {
    for (int i = 0; i < 20; ++i) {
      std::string ticket;
      for (int digit = 0; digit < 32; ++digit) ticket += "0123456789abcdef"[Pick(16)];
      if (!old_tickets_.empty() && old_tickets_.front().second < steady_clock::now() - kLongAgo)
        ticket = old_tickets_.front().first;
      v1::OpenSessionResponse session;
      if (feed_->OpenSession(ContextWith(ticket).get(), RequestOfASession(), &session).ok())
        Breach("a ticket that was not given, or whose connection is closed, opened a session");
    }
  }

  void RandomRequests() {
    posix::Fd socket = Knock(address_);
    if (!socket.valid()) return;
    const auto greeting = penstock::testing::SendHandshake(socket, shm::kProtocolVersion);
    for (int i = 0; i < 20; ++i) {
      v1::OpenSessionRequest request = RequestOfASession();
      const auto bytes = Garbage(64);
      request.MergeFromString(
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
      if (Pick(2) == 0) request.set_batch_size(static_cast<uint32_t>(dice()));
      if (Pick(2) == 0) request.set_window(static_cast<uint32_t>(dice()));
      v1::OpenSessionResponse session;
      (void)feed_->OpenSession(ContextWith(greeting.ticket).get(), request, &session);
      v1::CloseSessionRequest close;
      close.set_session_id(dice() % 1000);
      v1::CloseSessionResponse closed;
      (void)feed_->CloseSession(ContextWith(greeting.ticket).get(), close, &closed);
    }
  }

  // Opens a session, attacks the descriptors that it gets, and writes random values to its page and
  // event.
  void Session(milliseconds time) {
    if (hoarded_.size() > 100) hoarded_.clear();
    posix::Fd socket = Knock(address_);
    if (!socket.valid()) return;
    const auto greeting = penstock::testing::SendHandshake(socket, shm::kProtocolVersion);
    if (greeting.ticket.empty()) return;
    v1::OpenSessionResponse session;
    if (!feed_->OpenSession(ContextWith(greeting.ticket).get(), RequestOfASession(), &session).ok())
      return;
    Play(socket, steady_clock::now() + time);
    if (Pick(3) == 0) return hoarded_.push_back(std::move(socket));
    old_tickets_.emplace_back(greeting.ticket, steady_clock::now());  // invalid from now on
    if (old_tickets_.size() > 5) old_tickets_.pop_front();
  }

  void Hoard() {
    for (int i = 0; i < 40; ++i) {
      posix::Fd socket = Knock(address_);
      if (!socket.valid()) return;
      const auto greeting = penstock::testing::SendHandshake(socket, shm::kProtocolVersion);
      if (greeting.ticket.empty()) return;
      v1::OpenSessionResponse session;
      (void)feed_->OpenSession(ContextWith(greeting.ticket).get(), RequestOfASession(), &session);
      hoarded_.push_back(std::move(socket));
    }
    if (hoarded_.size() > 200) hoarded_.clear();
  }

  void Orders() {
    posix::Fd socket = Knock(address_);
    if (!socket.valid()) return;
    const auto greeting = penstock::testing::SendHandshake(socket, shm::kProtocolVersion);
    v1::SendOrderResponse response;
    const auto context = ContextWith(greeting.ticket);
    const auto writer = feed_->SendOrder(context.get(), &response);
    for (int i = 0; i < 20; ++i) {
      v1::SendOrderRequest part;
      part.set_length(Pick(2) == 0 ? 1'000'000 : dice());
      for (int sample = 0; sample < 60'000; ++sample) part.add_samples(dice());
      if (!writer->Write(part)) break;
    }
    writer->WritesDone();
    (void)writer->Finish();
  }

 private:
  void Play(const posix::Fd& socket, steady_clock::time_point end) {
    posix::Fd page, event;
    std::vector<posix::Fd> segments;
    posix::Mapping map;
    while (steady_clock::now() < end) {
      auto message = posix::Receive(socket, shm::kMaxDoorwayBytes, milliseconds(1));
      if (message.ok() && message->fds.size() == 2) {
        page = std::move(message->fds[0]);
        event = std::move(message->fds[1]);
        AttackPage(page.get());
        fcntl(event.get(), F_SETFL, 0);
        auto mapped = posix::Mapping::Map(page, *posix::SizeOf(page), posix::Access::kReadWrite);
        if (mapped.ok()) map = *std::move(mapped);
      } else if (message.ok() && message->fds.size() == 1) {
        AttackSegment(message->fds[0].get());
        segments.push_back(std::move(message->fds[0]));
      }
      if (map.size() > 0) Scribble(map);
      if (event.valid()) Ring(event);
    }
  }

  // Mixes honest taking and releasing with random writes.
  static void Scribble(posix::Mapping& map) {
    auto* control = reinterpret_cast<shm::ControlPage*>(map.data());
    for (int i = 0; i < 100; ++i) {
      const uint64_t announced = control->announced.load();
      if (Pick(50) != 0) {
        control->taken.store(announced);
        for (uint64_t n = announced > 8 ? announced - 8 : 0; n < announced; ++n)
          control->released[n % shm::kControlCapacity].store(n + 1);
        continue;
      }
      const uint64_t value = Pick(2) == 0 ? dice() : announced + Pick(4) - 2;
      std::memcpy(map.data() + Pick(map.size() - sizeof(value)), &value, sizeof(value));
    }
    control->consumer_asleep.store(1);
  }

  static void Ring(const posix::Fd& event) {
    for (int i = 0; i < 200; ++i) {
      const uint64_t one = 1;
      (void)!write(event.get(), &one, sizeof(one));
    }
    uint64_t all;
    (void)!read(event.get(), &all, sizeof(all));
  }

  const std::string address_;
  const std::unique_ptr<v1::FeedService::Stub> feed_;
  std::deque<std::pair<std::string, steady_clock::time_point>> old_tickets_;
  std::deque<posix::Fd> hoarded_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const std::string address = argv[1], admin = argv[2];
  dice.seed(std::strtoull(argv[3], nullptr, 10));
  if (const auto socket = posix::Connect(admin, posix::SocketKind::kStream); socket.ok())
    Breach("connected to the operators' socket");
  Caller caller(address);
  for (;;) {
    switch (argc == 5 ? static_cast<uint64_t>(std::atoi(argv[4])) : Pick(10)) {
      case 0:
        GarbageAtTheDoorway(address);
        break;
      case 1:
        GarbageAtASocket(address);
        break;
      case 2:
        caller.ForgeTickets();
        break;
      case 3:
        caller.RandomRequests();
        break;
      case 4:
        caller.Hoard();
        break;
      case 5:
        caller.Orders();
        break;
      default:
        caller.Session(milliseconds(100 + Pick(300)));
    }
    if (Pick(100) == 0) _exit(0);  // the parent starts it again
  }
}
