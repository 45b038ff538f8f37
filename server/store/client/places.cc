#include "server/store/client/places.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::store {

bool LiesIn(const Address& prefix, const Address& address) {
  if (prefix.scheme != address.scheme) return false;
  if (prefix.place.empty()) return true;
  return prefix.place == address.place && absl::StartsWith(address.key, prefix.key);
}

absl::StatusOr<const StorePlace*> StorePlaces::Find(const Address& address) const {
  const StorePlace* found = nullptr;
  for (const StorePlace& place : places_) {
    if (!LiesIn(place.prefix, address)) continue;
    const bool is_longer =
        found == nullptr || place.prefix.place.size() + place.prefix.key.size() >
                                found->prefix.place.size() + found->prefix.key.size();
    if (is_longer) found = &place;
  }
  if (found != nullptr) return found;
  return absl::FailedPreconditionError(
      absl::StrCat("'", ToText(address),
                   "' lies in none of the configured parts of stores "
                   "(stores.places), and nothing else is read"));
}

StorePlace EverywhereIn(Scheme scheme, StoreAccess access, std::shared_ptr<KeyRing> keys) {
  return {.prefix = {.scheme = scheme}, .access = std::move(access), .keys = std::move(keys)};
}

}  // namespace penstock::store
