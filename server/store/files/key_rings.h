// The key rings of all places: one for each way to get keys, which places share.
// **Thread safety**: any thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "server/store/client/places.h"
#include "server/store/credentials/key_ring.h"
#include "server/store/files/settings.h"

namespace penstock::store {

class KeyRings {
 public:
  explicit KeyRings(AskServer ask) : ask_(std::move(ask)) {}

  // The places with their rings. A ring that is known is used again. One that no place uses any
  // more is kept until the end, because requests under way may have it, but is not renewed.
  std::vector<StorePlace> PlacesFor(std::span<const PlaceSettings> settings);

  // Has all keys got anew soon. Never waits.
  void RenewSoon();
  // Reads keys in files again, and waits for that.
  void Reread();
  void Stop();

 private:
  using Ring = std::shared_ptr<KeyRing>;  // shared with the places, and with requests under way

  Ring RingFor(const KeySpec& spec) PENSTOCK_REQUIRES(mutex_);
  std::vector<Ring> InUse();

  const AskServer ask_;
  base::Mutex mutex_;
  std::map<KeySpec, Ring> rings_ PENSTOCK_GUARDED_BY(mutex_);  // of the places
  std::vector<Ring> unused_ PENSTOCK_GUARDED_BY(mutex_);
  bool stopped_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::store
