// How any process enters the doorway: it connects, introduces itself, and reads the answer. Also
// checks the form of the daemon's messages. No threads, no locks and no state, so that a forked
// child may use it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"

namespace penstock::client {

struct Greeted {
  posix::Fd socket;
  shm::DoorwayWelcome welcome;
};

// Connects to "<address>.door" and sends the handshake, with a pidfd of this process. Waits for the
// answer for at most `timeout`.
//
// **Errors**: Unavailable: no daemon there. FailedPrecondition: it speaks another protocol.
// DeadlineExceeded: it does not answer. Otherwise the daemon's own reason for refusing us.
absl::StatusOr<Greeted> Greet(const std::string& address, std::span<const std::byte> handshake,
                              base::Duration timeout);

// The header of a message that this library sends.
shm::DoorwayHeader MakeHeader(shm::DoorwayKind kind);

// Copies text up to a NUL byte into a NUL-terminated field, and cuts off what does not fit.
template <size_t kCapacity>
void CopyText(const std::string& text, char (&field)[kCapacity]) {
  std::strncpy(field, text.c_str(), kCapacity - 1);
  field[kCapacity - 1] = '\0';
}

// **Errors**: Internal if the message is shorter than a header; FailedPrecondition if it is not a
// Penstock daemon's.
absl::StatusOr<shm::DoorwayHeader> ReadHeader(const posix::Message& message);

// Reads the message as `Struct`, which begins with a header. Internal if the size or the number of
// descriptors is wrong.
template <typename Struct>
absl::StatusOr<Struct> As(const posix::Message& message, size_t descriptors) {
  Struct result;
  if (message.bytes.size() != sizeof(result) || message.fds.size() != descriptors) {
    return absl::InternalError(absl::StrCat(
        "the daemon sent a message of the wrong size: got ", message.bytes.size(), " bytes and ",
        message.fds.size(), " descriptors, expected ", sizeof(result), " and ", descriptors));
  }
  std::memcpy(&result, message.bytes.data(), sizeof(result));
  return result;
}

}  // namespace penstock::client
