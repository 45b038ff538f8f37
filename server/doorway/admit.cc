#include "server/doorway/admit.h"

#include <memory>
#include <utility>

#include "server/doorway/handshake.h"

namespace penstock::doorway {
namespace {

Peer MakePeer(PeerId id, Handshake handshake, const Identity& who) {
  return {.id = id,
          .role = handshake.role,
          .maker = handshake.maker,
          .pid = who.credentials.pid,
          .uid = who.credentials.uid,
          .gid = who.credentials.gid,
          .groups = who.groups,
          .client = std::move(handshake.client)};
}

absl::Status AdmitMaker(Visitor& visitor, const posix::Fd& pidfd, Peer& peer) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd duplicate, pidfd.Duplicate());
  peer.process = std::make_shared<const posix::Fd>(std::move(duplicate));
  return visitor.MayEnter(peer);
}

}  // namespace

absl::StatusOr<Entrant> Admit(const EntryChecks& checks, PeerId id, uint32_t user,
                              const posix::Fd& socket, posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(Handshake handshake, ReadHandshake(message.bytes));
  const bool is_client = handshake.role == Role::kClient;
  if (!is_client)
    PENSTOCK_RETURN_IF_ERROR(checks.makers.MayEnter(handshake.role, handshake.maker.token, user));
  PENSTOCK_RETURN_IF_ERROR(checks.guests.MayEnter(user));
  PENSTOCK_ASSIGN_OR_RETURN(Identity who, Identify(socket, std::move(message.fds)));

  const uint32_t version = handshake.version;
  Entrant entrant{.peer = MakePeer(id, std::move(handshake), who), .version = version, .pidfd = {}};
  if (is_client) {
    PENSTOCK_ASSIGN_OR_RETURN(entrant.peer.ticket, NewTicket());
  } else {
    PENSTOCK_RETURN_IF_ERROR(AdmitMaker(checks.visitor, who.pidfd, entrant.peer));
  }
  entrant.pidfd = std::move(who.pidfd);
  return entrant;
}

}  // namespace penstock::doorway
