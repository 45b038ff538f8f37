// Decides whether the sender of a Hello may enter. Changes nothing.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/socket.h"
#include "server/doorway/doorway.h"
#include "server/doorway/guests.h"
#include "server/doorway/makers.h"

namespace penstock::doorway {

// What decides besides the handshake itself.
struct EntryChecks {
  const Guests& guests;
  const Makers& makers;
  Visitor& visitor;
};

// A process that may enter.
struct Entrant {
  Peer peer;
  uint32_t version = 0;  // its protocol version
  posix::Fd pidfd;
};

// `message`: the first message on `socket`, whose peer is a process of `user`.
//
// **Errors**: why it may not enter, in words for its user.
absl::StatusOr<Entrant> Admit(const EntryChecks& checks, PeerId id, uint32_t user,
                              const posix::Fd& socket, posix::Message message);

}  // namespace penstock::doorway
