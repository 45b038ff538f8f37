// Memory of sparse slots, of pool.h.
#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/units.h"
#include "server/pool/pool.h"

namespace penstock::pool {
namespace {

absl::Status TooLargeForItsSlot(uint64_t bytes, uint64_t most) {
  return absl::InvalidArgumentError(absl::StrCat(
      "a made batch takes ", base::FormatBytes(bytes), ", more than the ", base::FormatBytes(most),
      " that its slot has room for; make smaller batches, or raise max_batch_bytes"));
}

}  // namespace

absl::Status Pool::Grant(uint32_t slot, uint64_t bytes) {
  const auto found = places_.find(slot);
  PENSTOCK_CHECK(found != places_.end() && found->second.layout.sparse());
  SlotPlace& place = found->second;
  const uint64_t most = place.layout.most_made_bytes();
  if (bytes > most) return TooLargeForItsSlot(bytes, most);
  if (bytes <= place.granted) return absl::OkStatus();

  Segment& segment = segments_.at(place.segment);
  const uint64_t granted = (bytes + kPage - 1) / kPage * kPage;  // at most `most`: whole pages
  const uint64_t more = granted - place.granted;
  FreeUntil(more, segment.arena);
  if (Headroom() < more) return CannotGrant(segment.user, granted, more);
  place.granted = granted;
  segment.charged_bytes += more;
  charged_bytes_ += more;
  granted_bytes_ += more;
  return absl::OkStatus();
}

absl::Status Pool::CannotGrant(uint32_t user, uint64_t granted, uint64_t more) const {
  uint64_t of_others = 0;
  for (const auto& [id, segment] : segments_)
    if (segment.user != user) of_others += segment.charged_bytes;
  std::string others, machine;
  if (of_others > 0) others = absl::StrCat(", other users have ", base::FormatBytes(of_others));
  if (options_.available_bytes)
    machine = absl::StrCat(", the machine has ", base::FormatBytes(MachineHas()), " available");
  return absl::ResourceExhaustedError(absl::StrCat(
      "a made batch of ", base::FormatBytes(granted), " needs ", base::FormatBytes(more),
      " more memory; batches in use leave ", base::FormatBytes(Left()), " of the pool's ",
      base::FormatBytes(options_.max_bytes), others, machine,
      "; lower prefetch_factor or the batch size, close sessions, or raise pool.max"));
}

// Gives back at least `bytes` of what unused slots were granted, if they have as much.
void Pool::GiveBackUnused(uint64_t bytes) {
  if (!listener_.unused) return;
  for (uint64_t arena = 0; arena < arenas_.size(); ++arena) {
    if (!arenas_[arena].layout.sparse() || arenas_[arena].slots == 0) continue;
    for (const uint32_t slot : listener_.unused(arena)) {
      SlotPlace& place = places_.at(slot);
      if (place.granted == 0) continue;
      listener_.forget(slot);
      const uint64_t given_back = GiveBack(place);
      if (given_back >= bytes) return;
      bytes -= given_back;
    }
  }
}

// Returns the number of bytes that the pool no longer counts. If the system keeps the pages, they
// stay granted.
uint64_t Pool::GiveBack(SlotPlace& place) {
  Segment& segment = segments_.at(place.segment);
  // All of it, because a faulty writer may have exceeded its grant.
  if (!posix::GiveBackPages(segment.memory, place.offset + place.layout.made_offset,
                            place.layout.most_made_bytes())
           .ok())
    return 0;
  segment.charged_bytes -= place.granted;
  charged_bytes_ -= place.granted;
  granted_bytes_ -= place.granted;
  return std::exchange(place.granted, 0);
}

absl::Status Pool::CheckAddresses(const SlotLayout& layout, uint64_t wanted) const {
  const uint64_t left = kMostAddressBytes - std::min(kMostAddressBytes, address_bytes_);
  if (layout.slot_bytes <= left / wanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the session's prefetch window needs ", wanted, " slots for batches of up to ",
      base::FormatBytes(layout.most_made_bytes()), " of addresses; got ", base::FormatBytes(left),
      " left of the daemon's ", base::FormatBytes(kMostAddressBytes),
      "; lower max_batch_bytes or prefetch_factor, or close sessions"));
}

}  // namespace penstock::pool
