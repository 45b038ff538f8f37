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

struct Hello {
  std::string client;    // its own name for itself, made printable
  uint32_t version = 0;  // of the protocol that it speaks
};

// FailedPrecondition for a protocol version that is not served names both and says which side to
// upgrade; InvalidArgument for what is no Hello.
absl::StatusOr<Hello> ReadHello(const std::vector<std::byte>& bytes);

// The pidfd to watch: the kernel's word if there is one (Unavailable from it: the peer is gone);
// where it has none to give (Unimplemented), the one the client sent, which has to be a pidfd and,
// where the kernel can tell the peer's pid (not 0), of that process.
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

// In the version that the client speaks: another one it would not take.
shm::DoorwayWelcome WelcomeWith(const rpc::Ticket& ticket, uint32_t version);
shm::DoorwayRefused RefusedFor(const absl::Status& why);

}  // namespace penstock::doorway
