#include "server/doorway/guests.h"

#include "absl/strings/str_cat.h"

namespace penstock::doorway {
namespace {

constexpr uint32_t kKeptPart = 16;    // one part in 16 is reserved for the privileged
constexpr uint64_t kWatchedEach = 4;  // the limit on watched connections, as a multiple of places

base::Shares Shared(uint64_t most, std::optional<uint32_t> owner) {
  return base::Shares(most, owner ? most / kKeptPart : 0);
}

}  // namespace

Guests::Guests(uint32_t max_peers, std::optional<uint32_t> owner)
    : owner_(owner),
      places_(Shared(max_peers, owner)),
      watched_(Shared(kWatchedEach * max_peers, owner)) {}

absl::Status Guests::MayEnter(uint32_t user) const {
  if (places_.held() >= places_.most())
    return absl::ResourceExhaustedError(
        absl::StrCat("this daemon already serves its maximum of ", places_.most(),
                     " clients (server.max_connections); close one and try again"));
  if (!places_.CanTake(user, privileged(user)))
    return absl::ResourceExhaustedError(absl::StrCat(
        "user ", user, " has ", places_.HeldBy(user), " of the ", places_.most(),
        " connections that this daemon serves (server.max_connections), the most that one user "
        "may have while others have ",
        places_.held() - places_.HeldBy(user), "; close some and try again"));
  if (!watched_.CanTake(user, privileged(user)))
    return absl::ResourceExhaustedError(
        absl::StrCat("user ", user, " has ", watched_.HeldBy(user),
                     " connections of running processes that did not close their sessions; close "
                     "the sessions or end the processes"));
  return absl::OkStatus();
}

void Guests::Enter(PeerId peer, uint32_t user) {
  places_.Add(user);
  watched_.Add(user);
  in_places_[peer] = in_watch_[peer] = user;
}

void Guests::LeavePlace(PeerId peer) {
  if (const auto node = in_places_.extract(peer)) places_.Remove(node.mapped());
}

void Guests::Forget(PeerId peer) {
  if (const auto node = in_watch_.extract(peer)) watched_.Remove(node.mapped());
}

}  // namespace penstock::doorway
