// Does the doorway's handshake like a client, for tests that talk to a daemon without the client
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/posix/fd.h"

namespace penstock::testing {

// The ticket as call metadata, or the error message.
struct Greeting {
  std::string ticket, refusal;
};

Greeting SendHandshake(const posix::Fd& socket, uint32_t version);
// Sends `handshake` as the first message, with a pidfd of this process.
Greeting SendHandshake(const posix::Fd& socket, std::span<const std::byte> handshake);

}  // namespace penstock::testing
