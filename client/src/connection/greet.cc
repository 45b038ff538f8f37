#include "client/src/connection/greet.h"

#include <unistd.h>

#include "common/posix/process.h"
#include "common/shm/protocol.h"

namespace penstock::client {
namespace {

absl::string_view Bounded(const char* text, size_t capacity) {
  return absl::string_view(text, ::strnlen(text, capacity));
}

absl::StatusOr<shm::DoorwayWelcome> ReadAnswer(const posix::Message& answer) {
  PENSTOCK_ASSIGN_OR_RETURN(const shm::DoorwayHeader header, ReadHeader(answer));
  if (header.kind == shm::DoorwayKind::kRefused) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto refused, As<shm::DoorwayRefused>(answer, 0));
    const auto code = static_cast<absl::StatusCode>(refused.code);
    return absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code,
                        Bounded(refused.reason, sizeof(refused.reason)));
  }
  // The daemon answers in our protocol version if it serves that.
  PENSTOCK_RETURN_IF_ERROR(shm::CheckDaemon({header.version, header.version}));
  PENSTOCK_ASSIGN_OR_RETURN(const auto welcome, As<shm::DoorwayWelcome>(answer, 0));
  if (header.kind != shm::DoorwayKind::kWelcome) {
    return absl::InternalError("the daemon did not answer the handshake with a welcome");
  }
  return welcome;
}

absl::StatusOr<shm::DoorwayWelcome> Introduce(const posix::Fd& socket,
                                              std::span<const std::byte> handshake,
                                              base::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd self, posix::OpenPidfd(::getpid()));
  const int descriptor = self.get();
  // A daemon without room may have refused us and hung up before we sent anything.
  const absl::Status said = posix::Send(socket, handshake, {&descriptor, 1});
  const auto receive = [&](base::Duration wait) {
    return posix::Receive(socket, shm::kMaxDoorwayBytes, wait);
  };
  absl::StatusOr<posix::Message> received = receive(said.ok() ? timeout : base::Duration::zero());
  // The failed send is reported before the daemon's message is read, so look for that message.
  if (absl::IsUnavailable(received.status())) received = receive(base::Duration::zero());
  if (!received.ok()) return said.ok() ? received.status() : said;
  return ReadAnswer(*received);
}

}  // namespace

absl::StatusOr<Greeted> Greet(const std::string& address, std::span<const std::byte> handshake,
                              base::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Fd socket,
      posix::Connect(absl::StrCat(address, shm::kDoorwaySuffix), posix::SocketKind::kSeqPacket));
  const auto welcome = Introduce(socket, handshake, timeout);
  if (!welcome.ok()) {
    return base::Annotate(welcome.status(), absl::StrCat("the daemon at ", address));
  }
  return Greeted{.socket = std::move(socket), .welcome = *welcome};
}

shm::DoorwayHeader MakeHeader(shm::DoorwayKind kind) {
  return {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
}

absl::StatusOr<shm::DoorwayHeader> ReadHeader(const posix::Message& message) {
  shm::DoorwayHeader header;
  if (message.bytes.size() < sizeof(header)) {
    return absl::InternalError("the daemon sent a message without a complete header");
  }
  std::memcpy(&header, message.bytes.data(), sizeof(header));
  if (header.magic != shm::kDoorwayMagic) {
    return absl::FailedPreconditionError("the process that listens there is not a Penstock daemon");
  }
  return header;
}

}  // namespace penstock::client
