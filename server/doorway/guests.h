// How many connections each user has at the doorway, and whether one more may come in: nobody takes
// what others need (common/base/shares.h). A connection has a place until it is closed and took all
// that it was sent; it is watched until its process is gone or holds nothing of ours. One thread.
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
  // `owner`: whose process this is; root and it have all that is left, and a part that is kept for
  // them. Nothing: all users are alike.
  Guests(uint32_t max_peers, std::optional<uint32_t> owner);

  // ResourceExhausted says what is full, of whose, and what to do.
  absl::Status MayEnter(uint32_t user) const;
  bool privileged(uint32_t user) const { return owner_ && (user == 0 || user == *owner_); }

  void Enter(PeerId peer, uint32_t user);
  void LeavePlace(PeerId peer);
  void Forget(PeerId peer);  // is watched no more

 private:
  const std::optional<uint32_t> owner_;
  base::Shares places_, watched_;
  std::map<PeerId, uint32_t> in_places_, in_watch_;  // the user of each
};

}  // namespace penstock::doorway
