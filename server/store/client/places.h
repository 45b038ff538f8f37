// Which part of the stores is reached in which way. Immutable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/store_request.h"
#include "server/store/credentials/key_ring.h"

namespace penstock::store {

struct StorePlace {
  // All objects whose address begins so. Without a bucket or host: all of the scheme. Otherwise its
  // key ends in a slash, or is empty.
  Address prefix = {};
  StoreAccess access = {};  // its credentials are not used
  // Signs requests; null: they are anonymous. Several places may share it.
  std::shared_ptr<KeyRing> keys = {};
};

class StorePlaces {
 public:
  explicit StorePlaces(std::vector<StorePlace> places) : places_(std::move(places)) {}

  // The place with the longest prefix. **Errors**: FailedPrecondition: there is none.
  absl::StatusOr<const StorePlace*> Find(const Address& address) const;
  const std::vector<StorePlace>& all() const { return places_; }

 private:
  const std::vector<StorePlace> places_;
};

// The place for all of a scheme.
StorePlace EverywhereIn(Scheme scheme, StoreAccess access, std::shared_ptr<KeyRing> keys = {});

// Whether the object's address begins with the prefix.
bool LiesIn(const Address& prefix, const Address& address);

}  // namespace penstock::store
