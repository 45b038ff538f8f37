// The handshake: checks a client's Hello and admits or refuses it, with a message that says what to
// do. Every byte that a client sends is checked here. No thread of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "server/doorway/closers.h"
#include "server/doorway/role.h"
#include "server/rpc/controller.h"

namespace penstock::doorway {

struct Handshake {
  std::string client = {};  // the client's own name, made printable; a Python worker sends none
  uint32_t version = 0;     // the client's protocol version
  Role role = Role::kClient;
  MakerClaim maker = {};  // of a host or a Python worker; place and start are possible ones
};

// **Errors**: FailedPrecondition for an unsupported protocol version names both versions and the
// side to upgrade; InvalidArgument if the bytes are not a Hello, or name an impossible place.
absl::StatusOr<Handshake> ReadHandshake(const std::vector<std::byte>& bytes);

// Chooses the pidfd to watch: the kernel's if it provides one. If it does not (Unimplemented), the
// client's, which must be a pidfd and, if the kernel knows the peer's pid (not 0), must belong to
// that process.
//
// **Errors**: Unavailable from the kernel means that the peer is gone.
absl::StatusOr<posix::Fd> ChoosePidfd(absl::StatusOr<posix::Fd> of_kernel,
                                      std::vector<posix::Fd> sent, pid_t peer);

// Receives a message that should be a Hello. A client may attach descriptors of any file, so they
// are taken only if they are needed: if the kernel does not tell which process the client is.
class HandshakeReceiver {
 public:
  // Never waits.
  //
  // **Errors**: as posix::Receive; InvalidArgument if a descriptor is not a pidfd;
  // ResourceExhausted if too many files that this user sent earlier are still being closed.
  absl::StatusOr<posix::Message> Receive(const posix::Fd& socket, uint32_t user);

 private:
  const bool kernel_knows_processes_ = posix::HasPeerPidfd();
  Closers closers_;
};

// A client's identity, according to the kernel.
struct Identity {
  posix::Credentials credentials;
  std::vector<gid_t> groups;
  posix::Fd pidfd;
};
absl::StatusOr<Identity> Identify(const posix::Fd& socket, std::vector<posix::Fd> sent);

// A random ticket from getrandom(2), which nobody can guess.
absl::StatusOr<rpc::Ticket> NewTicket();

// `version`: the client's protocol version, because the client would accept no other.
shm::DoorwayWelcome WelcomeWith(const rpc::Ticket& ticket, uint32_t version);
shm::DoorwayRefused RefusedFor(const absl::Status& why);

}  // namespace penstock::doorway
