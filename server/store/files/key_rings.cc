#include "server/store/files/key_rings.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/telemetry/log.h"

namespace penstock::store {
namespace {

// Who gave keys, and for how long they hold; never a key.
void LogKeys(const KeyRing::KeyNews& news) {
  if (!news.status.ok()) {
    PENSTOCK_LOG(kWarning, "store_keys_failed", {"reason", news.status.message()});
    return;
  }
  PENSTOCK_LOG(kInfo, "store_keys", {"from", news.from},
               {"end_in", news.seconds ? absl::StrCat(*news.seconds, " s") : "unknown"});
}

}  // namespace

std::vector<StorePlace> KeyRings::PlacesFor(std::span<const PlaceSettings> settings) {
  const base::MutexLock lock(mutex_);
  std::vector<StorePlace> places;
  std::set<KeySpec> used;
  for (const PlaceSettings& each : settings) {
    places.push_back({.prefix = each.prefix, .access = each.access, .keys = RingFor(each.keys)});
    used.insert(each.keys);
  }
  for (auto ring = rings_.begin(); ring != rings_.end();) {
    if (used.contains(ring->first)) {
      ++ring;
      continue;
    }
    ring->second->Stop();
    unused_.push_back(std::move(ring->second));
    ring = rings_.erase(ring);
  }
  return places;
}

KeyRings::Ring KeyRings::RingFor(const KeySpec& spec) {
  if (spec.from == KeySpec::From::kNowhere) return nullptr;
  Ring& ring = rings_[spec];
  if (ring == nullptr)
    ring = std::make_shared<KeyRing>(MakeKeySource(spec, ask_), KeyRing::Options{}, LogKeys);
  if (stopped_) ring->Stop();
  return ring;
}

std::vector<KeyRings::Ring> KeyRings::InUse() {
  const base::MutexLock lock(mutex_);
  std::vector<Ring> rings;
  for (const auto& [spec, ring] : rings_) rings.push_back(ring);
  return rings;
}

void KeyRings::RenewSoon() {
  for (const Ring& ring : InUse()) ring->RenewSoon();
}

void KeyRings::Reread() {
  for (const Ring& ring : InUse()) ring->Reread();
}

void KeyRings::Stop() {
  const base::MutexLock lock(mutex_);
  stopped_ = true;
  for (const auto& [spec, ring] : rings_) ring->Stop();
}

}  // namespace penstock::store
