// The first words at the doorway: a stranger's Hello becomes an admission, or a refusal that says
// what to do. Every byte that a client sends is judged here. No thread of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "server/rpc/controller.h"

namespace penstock::doorway {

// The client's own name for itself, made printable, of a Hello. FailedPrecondition for another
// protocol version names both and says which side to upgrade; InvalidArgument for what is no Hello.
absl::StatusOr<std::string> ReadHello(const std::vector<std::byte>& bytes);

// The pidfd to watch: the kernel's word if there is one (Unavailable from it: the peer is gone),
// else the one the client sent, which has to be a pidfd and, where the kernel can tell the peer's
// pid (not 0), of that process.
absl::StatusOr<posix::Fd> ChoosePidfd(absl::StatusOr<posix::Fd> of_kernel,
                                      std::vector<posix::Fd> sent, pid_t peer);

// Who a client is, by the kernel's word.
struct Identity {
  posix::Credentials credentials;
  std::vector<gid_t> groups;
  posix::Fd pidfd;
};
absl::StatusOr<Identity> Identify(const posix::Fd& socket, std::vector<posix::Fd> sent);

// A ticket that nobody can guess, from getrandom(2).
absl::StatusOr<rpc::Ticket> NewTicket();

shm::DoorwayWelcome WelcomeWith(const rpc::Ticket& ticket);
shm::DoorwayRefused RefusedFor(const absl::Status& why);

}  // namespace penstock::doorway
