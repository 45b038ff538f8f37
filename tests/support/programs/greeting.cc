#include "tests/support/programs/greeting.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "common/posix/process.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"

namespace penstock::testing {

Greeting SendHandshake(const posix::Fd& socket, uint32_t version) {
  shm::DoorwayHandshake handshake = {};
  handshake.header = {shm::kDoorwayMagic, version, shm::DoorwayKind::kHandshake, 0};
  std::strcpy(handshake.client, "old client");
  return SendHandshake(socket, std::as_bytes(std::span(&handshake, 1)));
}

Greeting SendHandshake(const posix::Fd& socket, std::span<const std::byte> handshake) {
  const auto self = posix::OpenPidfd(getpid());
  const int fds[] = {self->get()};
  (void)posix::Send(socket, handshake, fds);
  auto answer = posix::Receive(socket, shm::kMaxDoorwayBytes, std::chrono::seconds(10));
  // Like the client library, reports the daemon's reason rather than that it hung up.
  if (absl::IsUnavailable(answer.status()))
    answer = posix::Receive(socket, shm::kMaxDoorwayBytes, std::chrono::seconds(0));
  if (!answer.ok()) return {.ticket = {}, .refusal = answer.status().ToString()};
  shm::DoorwayRefused refused;
  shm::DoorwayWelcome welcome;
  if (answer->bytes.size() == sizeof(refused)) {
    std::memcpy(&refused, answer->bytes.data(), sizeof(refused));
    return {.ticket = {}, .refusal = refused.reason};
  }
  std::memcpy(&welcome, answer->bytes.data(), sizeof(welcome));
  const auto* first = reinterpret_cast<const char*>(welcome.ticket);
  return {.ticket = absl::BytesToHexString({first, sizeof(welcome.ticket)}), .refusal = {}};
}

}  // namespace penstock::testing
