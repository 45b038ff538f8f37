// Counts each user's connections to the doorway, and decides whether one more may enter. Shares
// keep places free for other users (common/base/shares.h). A connection holds its place until it is
// closed and has received everything sent to it. It counts as watched until its process is gone or
// holds no memory of ours.
//
// **Thread safety**: used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "common/base/shares.h"
#include "common/base/status.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

class Guests {
 public:
  // `owner`: the user of this process. The owner and root may take everything that is left, and a
  // part is reserved for them. nullopt: all users are treated alike.
  Guests(uint32_t max_peers, std::optional<uint32_t> owner);

  // **Errors**: ResourceExhausted says which limit is reached, by whom, and what to do.
  absl::Status MayEnter(uint32_t user) const;
  bool privileged(uint32_t user) const { return owner_ && (user == 0 || user == *owner_); }

  void Enter(PeerId peer, uint32_t user);
  void LeavePlace(PeerId peer);
  void Forget(PeerId peer);  // stops watching it

 private:
  const std::optional<uint32_t> owner_;
  base::Shares places_, watched_;
  std::map<PeerId, uint32_t> in_places_, in_watch_;  // the user of each
};

}  // namespace penstock::doorway
