#include "tests/unit/doorway/visit.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/base/check.h"
#include "common/posix/process.h"

namespace penstock::doorway {
namespace {

constexpr base::Duration kPatience = std::chrono::seconds(5);
constexpr char kTokenText[] = "abcdefghijklmnop";

shm::DoorwayHeader MakeHeader(shm::DoorwayKind kind) {
  return {
      .magic = shm::kDoorwayMagic, .version = shm::kProtocolVersion, .kind = kind, .reserved = 0};
}

template <typename Wire>
absl::StatusOr<Wire> Read(const posix::Fd& socket, shm::DoorwayKind kind) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Message message,
                            posix::Receive(socket, shm::kMaxDoorwayBytes, kPatience));
  Wire wire;
  if (message.bytes.size() != sizeof(wire)) {
    return absl::InternalError(absl::StrCat("got ", message.bytes.size(), " bytes"));
  }
  std::memcpy(&wire, message.bytes.data(), sizeof(wire));
  if (wire.header.kind != kind) return absl::InternalError("another kind of message");
  return wire;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  char name[] = "/tmp/penstock-doorway-XXXXXX";
  PENSTOCK_CHECK(::mkdtemp(name) != nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

absl::Status GuestBook::MayEnter(const Peer&) {
  base::MutexLock lock(mutex_);
  ++asked_;
  return makers_;
}

void GuestBook::Refuse(absl::Status why) {
  base::MutexLock lock(mutex_);
  makers_ = std::move(why);
}

size_t GuestBook::asked() const {
  base::MutexLock lock(mutex_);
  return asked_;
}

void GuestBook::OnArrived(const Peer& peer) {
  {
    base::MutexLock lock(mutex_);
    arrived_.push_back(peer);
  }
  Write("arrived", peer.id);
}

std::vector<Peer> GuestBook::arrived() const {
  base::MutexLock lock(mutex_);
  return arrived_;
}

std::vector<std::string> GuestBook::events() const {
  base::MutexLock lock(mutex_);
  return events_;
}

bool GuestBook::WaitForEvents(size_t count) const {
  const base::SteadyClock clock;
  const base::TimePoint deadline = clock.Now() + kPatience;
  base::MutexLock lock(mutex_);
  while (events_.size() < count && clock.Now() < deadline) {
    changed_.WaitFor(mutex_, std::chrono::milliseconds(50));
  }
  return events_.size() >= count;
}

void GuestBook::Write(const std::string& what, PeerId peer) {
  base::MutexLock lock(mutex_);
  events_.push_back(absl::StrCat(what, " ", peer.value()));
  changed_.NotifyAll();
}

shm::DoorwayHandshake GoodHandshake() {
  shm::DoorwayHandshake handshake{.header = MakeHeader(shm::DoorwayKind::kHandshake), .client = {}};
  std::strcpy(handshake.client, "test 1.0");
  return handshake;
}

shm::DoorwayHost HostHandshake() {
  shm::DoorwayHost handshake{
      .header = MakeHeader(shm::DoorwayKind::kHost), .token = {}, .client = "host 1.0"};
  std::memcpy(handshake.token, kTokenText, sizeof(handshake.token));
  return handshake;
}

shm::DoorwayWorker WorkerHandshake() {
  shm::DoorwayWorker handshake{
      .header = MakeHeader(shm::DoorwayKind::kWorker), .token = {}, .place = 3, .start = 1};
  std::memcpy(handshake.token, kTokenText, sizeof(handshake.token));
  return handshake;
}

posix::Fd Enter(const std::string& path) {
  auto socket = posix::Connect(path, posix::SocketKind::kSeqPacket);
  PENSTOCK_CHECK(socket.ok());
  return *std::move(socket);
}

absl::Status Say(const posix::Fd& socket, const void* bytes, size_t size) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd pidfd, posix::OpenPidfd(::getpid()));
  const int fds[] = {pidfd.get()};
  return posix::Send(socket, {static_cast<const std::byte*>(bytes), size}, fds);
}

posix::Fd EnterAndSendHandshake(const std::string& path) {
  return EnterWith(path, GoodHandshake());
}

absl::StatusOr<shm::DoorwayRefused> ReadRefused(const posix::Fd& socket) {
  return Read<shm::DoorwayRefused>(socket, shm::DoorwayKind::kRefused);
}

absl::StatusOr<shm::DoorwayWelcome> ReadWelcome(const posix::Fd& socket) {
  return Read<shm::DoorwayWelcome>(socket, shm::DoorwayKind::kWelcome);
}

bool IsClosedByDaemon(const posix::Fd& socket) {
  return absl::IsUnavailable(posix::Receive(socket, shm::kMaxDoorwayBytes, kPatience).status());
}

pid_t Fork(const std::function<int()>& body) {
  const pid_t child = ::fork();
  PENSTOCK_CHECK(child >= 0);
  if (child == 0) ::_exit(body());
  return child;
}

int WaitForExit(pid_t child) {
  int status = 0;
  PENSTOCK_CHECK(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace penstock::doorway
