// Counts the hosts and Python workers that are connected, by token, and decides whether one more
// may enter: only those of one user, and as many as one session can use. They take places among the
// guests, too (guests.h).
//
// **Thread safety**: used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "common/base/status.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

class Makers {
 public:
  // `user`: whose hosts and Python workers may enter; nullopt: nobody's.
  explicit Makers(std::optional<uint32_t> user) : user_(user) {}

  // **Requires**: the role is not kClient.
  //
  // **Errors**: FailedPrecondition if nobody's may enter; PermissionDenied for another user;
  // ResourceExhausted if the token has as many as it may.
  absl::Status MayEnter(Role role, const HostToken& token, uint32_t user) const;

  void Enter(PeerId peer, Role role, const HostToken& token);
  void Leave(PeerId peer);  // does nothing for others

 private:
  struct RoleAndToken {
    Role role;
    HostToken token;
    auto operator<=>(const RoleAndToken&) const = default;
  };
  const std::optional<uint32_t> user_;
  std::map<PeerId, RoleAndToken> peers_;
  std::map<RoleAndToken, uint32_t> counts_;  // of those in peers_
};

}  // namespace penstock::doorway
