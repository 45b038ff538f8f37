#include "client/src/maker/entrance.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "client/src/connection/greet.h"

namespace penstock::client {
namespace {

absl::StatusOr<Entrance> ReceiveMemory(const posix::Fd& socket, shm::DoorwayKind awaited,
                                       size_t bytes, base::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Message message,
                            posix::Receive(socket, shm::kMaxDoorwayBytes, timeout));
  PENSTOCK_ASSIGN_OR_RETURN(const shm::DoorwayHeader header, ReadHeader(message));
  if (header.kind != awaited) {
    return absl::InternalError(absl::StrCat("the daemon sent a message of kind ",
                                            static_cast<uint32_t>(header.kind), ", expected ",
                                            static_cast<uint32_t>(awaited)));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const auto memory, As<shm::DoorwayMemory>(message, 3));
  if (memory.bytes != bytes) {
    return absl::InternalError(absl::StrCat("the daemon sent shared memory of ", memory.bytes,
                                            " bytes, expected ", bytes));
  }
  Entrance entrance;
  PENSTOCK_ASSIGN_OR_RETURN(entrance.memory,
                            posix::Mapping::Map(message.fds[0], bytes, posix::Access::kReadWrite));
  entrance.to_us = std::move(message.fds[1]);
  entrance.to_daemon = std::move(message.fds[2]);
  return entrance;
}

// The path at which the peer of a Unix socket listens; empty for other descriptors.
std::string PeerPath(int fd) {
  sockaddr_un name{};
  socklen_t length = sizeof(name);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) return "";
  if (name.sun_family != AF_UNIX || length <= offsetof(sockaddr_un, sun_path)) return "";
  return std::string(name.sun_path, ::strnlen(name.sun_path, sizeof(name.sun_path)));
}

absl::StatusOr<std::vector<int>> OpenDescriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  if (folder == nullptr) {
    return base::ErrnoStatus(errno, "reading /proc/self/fd", "/proc must be mounted");
  }
  std::vector<int> numbers;
  while (const dirent* entry = ::readdir(folder.get())) {
    int number = -1;
    if (absl::SimpleAtoi(entry->d_name, &number)) numbers.push_back(number);
  }
  std::erase(numbers, ::dirfd(folder.get()));
  return numbers;
}

}  // namespace

absl::StatusOr<Entrance> EnterAsMaker(const std::string& address,
                                      std::span<const std::byte> handshake,
                                      shm::DoorwayKind awaited, size_t bytes,
                                      base::Duration timeout) {
  const base::TimePoint deadline = base::Now() + timeout;
  PENSTOCK_ASSIGN_OR_RETURN(Greeted greeted, Greet(address, handshake, timeout));
  const base::Duration left = std::max(deadline - base::Now(), base::Duration::zero());
  absl::StatusOr<Entrance> entrance = ReceiveMemory(greeted.socket, awaited, bytes, left);
  if (!entrance.ok()) {
    return base::Annotate(entrance.status(), absl::StrCat("the daemon at ", address));
  }
  entrance->socket = std::move(greeted.socket);
  return entrance;
}

absl::Status CloseInheritedSockets(const posix::Fd& doorway) {
  const std::string door = PeerPath(doorway.get());
  const std::string address(absl::StripSuffix(door, shm::kDoorwaySuffix));
  if (door == address) {
    return absl::FailedPreconditionError("this socket is not connected to a daemon's doorway");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<int> numbers, OpenDescriptors());
  for (const int number : numbers) {
    if (number == doorway.get()) continue;
    const std::string path = PeerPath(number);
    if (path == door || path == address) ::close(number);
  }
  return absl::OkStatus();
}

}  // namespace penstock::client
