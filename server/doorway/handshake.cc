#include "server/doorway/handshake.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/posix/failpoint.h"
#include "common/posix/group.h"
#include "common/posix/process.h"
#include "common/shm/protocol.h"
#include "common/shm/python_host.h"

namespace penstock::doorway {
namespace {

constexpr shm::DoorwayHeader MakeHeader(shm::DoorwayKind kind, uint32_t version) {
  return {.magic = shm::kDoorwayMagic, .version = version, .kind = kind, .reserved = 0};
}

// A client's text made safe for a terminal: up to the NUL byte, with '?' for unprintable
// characters.
std::string Printable(const char (&text)[64]) {
  std::string result(text, ::strnlen(text, sizeof(text)));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

// The process behind a pidfd according to /proc; nullopt if /proc does not say.
std::optional<pid_t> ProcessOf(const posix::Fd& pidfd) {
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", pidfd.get()));
  for (std::string line; std::getline(info, line);) {
    absl::string_view rest = line;
    int pid = 0;
    if (absl::ConsumePrefix(&rest, "Pid:") && absl::SimpleAtoi(rest, &pid) && pid > 0) return pid;
  }
  return std::nullopt;
}

absl::Status Unexpected(shm::DoorwayKind kind, size_t bytes, size_t expected) {
  return absl::InvalidArgumentError(absl::StrCat("unexpected message: got kind ",
                                                 static_cast<uint32_t>(kind), " with ", bytes,
                                                 " bytes, expected a Hello of ", expected));
}

// **Requires**: the bytes begin with a header.
template <typename Wire>
absl::StatusOr<Wire> As(const std::vector<std::byte>& bytes) {
  Wire wire;
  std::memcpy(&wire.header, bytes.data(), sizeof(wire.header));
  if (bytes.size() != sizeof(wire)) return Unexpected(wire.header.kind, bytes.size(), sizeof(wire));
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  return wire;
}

absl::StatusOr<Handshake> ReadClient(const std::vector<std::byte>& bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto wire, As<shm::DoorwayHandshake>(bytes));
  return Handshake{.client = Printable(wire.client), .version = wire.header.version};
}

absl::StatusOr<Handshake> ReadHost(const std::vector<std::byte>& bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto wire, As<shm::DoorwayHost>(bytes));
  return Handshake{.client = Printable(wire.client),
                   .version = wire.header.version,
                   .role = Role::kHost,
                   .maker = {.token = std::to_array(wire.token)}};
}

absl::StatusOr<Handshake> ReadWorker(const std::vector<std::byte>& bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto wire, As<shm::DoorwayWorker>(bytes));
  if (wire.place >= shm::kMaxPythonWorkers)
    return absl::InvalidArgumentError(absl::StrCat("a Python worker's place: got ", wire.place,
                                                   ", expected less than ",
                                                   shm::kMaxPythonWorkers));
  if (wire.start == 0)
    return absl::InvalidArgumentError("a Python worker's start: got 0, expected 1 or more");
  return Handshake{
      .version = wire.header.version,
      .role = Role::kWorker,
      .maker = {.token = std::to_array(wire.token), .place = wire.place, .start = wire.start}};
}

absl::Status NotAPidfd() {
  return absl::InvalidArgumentError(
      "a descriptor in the Hello is not a pidfd; send what pidfd_open(getpid()) returns");
}

}  // namespace

absl::StatusOr<posix::Message> HandshakeReceiver::Receive(const posix::Fd& socket, uint32_t user) {
  if (!kernel_knows_processes_ && !closers_.MayReceive(user))
    return absl::ResourceExhaustedError(
        "files that this user sent in a Hello do not close; end the processes that hold them up");
  const posix::LingerLimit limit;
  PENSTOCK_ASSIGN_OR_RETURN(posix::Message message,
                            posix::Receive(socket, shm::kMaxDoorwayBytes, base::Duration::zero(),
                                           kernel_knows_processes_ ? posix::Descriptors::kDrop
                                                                   : posix::Descriptors::kTake));
  if (std::all_of(message.fds.begin(), message.fds.end(), posix::IsPidfd)) return message;
  closers_.Close(user, std::move(message.fds));
  return NotAPidfd();
}

absl::StatusOr<Handshake> ReadHandshake(const std::vector<std::byte>& bytes) {
  // Reads the header first, because another version's Hello may have another size.
  shm::DoorwayHeader header;
  if (bytes.size() < sizeof(header)) {
    return absl::InvalidArgumentError("not a Hello: too short; use Penstock's client library");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != shm::kDoorwayMagic) {
    return absl::InvalidArgumentError("not a Hello; use Penstock's client library");
  }
  PENSTOCK_RETURN_IF_ERROR(shm::CheckClient(header.version));
  switch (header.kind) {
    case shm::DoorwayKind::kHandshake:
      return ReadClient(bytes);
    case shm::DoorwayKind::kHost:
      return ReadHost(bytes);
    case shm::DoorwayKind::kWorker:
      return ReadWorker(bytes);
    default:
      return Unexpected(header.kind, bytes.size(), sizeof(shm::DoorwayHandshake));
  }
}

absl::StatusOr<posix::Fd> ChoosePidfd(absl::StatusOr<posix::Fd> of_kernel,
                                      std::vector<posix::Fd> sent, pid_t peer) {
  if (!absl::IsUnimplemented(of_kernel.status())) return of_kernel;
  if (sent.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("this kernel lacks SO_PEERPIDFD (new in Linux 6.5), so a Hello must carry one "
                     "descriptor, a pidfd of its sender; this one carried ",
                     sent.size(), "; upgrade the client library"));
  }
  if (!posix::IsPidfd(sent.front())) return NotAPidfd();
  const std::optional<pid_t> process = ProcessOf(sent.front());
  if (process.has_value() && peer != 0 && *process != peer) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the pidfd in the Hello is for process ", *process, ", but the connection is from process ",
        peer, "; each process must connect for itself"));
  }
  return std::move(sent.front());
}

absl::StatusOr<Identity> Identify(const posix::Fd& socket, std::vector<posix::Fd> sent) {
  Identity identity;
  PENSTOCK_ASSIGN_OR_RETURN(identity.credentials, posix::PeerCredentials(socket));
  PENSTOCK_RETURN_IF_ERROR(posix::CheckStandsForOneUser(identity.credentials.uid));
  PENSTOCK_ASSIGN_OR_RETURN(identity.groups, posix::PeerGroups(socket));
  PENSTOCK_ASSIGN_OR_RETURN(identity.pidfd, ChoosePidfd(posix::PeerPidfd(socket), std::move(sent),
                                                        identity.credentials.pid));
  if (posix::IsGone(identity.pidfd)) return absl::UnavailableError("the client is gone");
  return identity;
}

absl::StatusOr<rpc::Ticket> NewTicket() {
  rpc::Ticket ticket;
  ssize_t got;
  do {
    got = ::getrandom(ticket.bytes, sizeof(ticket.bytes), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(ticket.bytes))) {
    return base::ErrnoStatus(errno, "getrandom for a ticket");
  }
  return ticket;
}

shm::DoorwayWelcome WelcomeWith(const rpc::Ticket& ticket, uint32_t version) {
  PENSTOCK_FAILPOINT("doorway.before_welcome");
  shm::DoorwayWelcome welcome{.header = MakeHeader(shm::DoorwayKind::kWelcome, version),
                              .ticket = {}};
  std::memcpy(welcome.ticket, ticket.bytes, sizeof(welcome.ticket));
  return welcome;
}

shm::DoorwayRefused RefusedFor(const absl::Status& why) {
  shm::DoorwayRefused refused{
      .header = MakeHeader(shm::DoorwayKind::kRefused, shm::kProtocolVersion),
      .code = static_cast<uint32_t>(why.code()),
      .reason = {}};
  const size_t length = std::min(why.message().size(), sizeof(refused.reason) - 1);
  std::memcpy(refused.reason, why.message().data(), length);
  return refused;
}

}  // namespace penstock::doorway
