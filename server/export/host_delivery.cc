#include "server/export/host_delivery.h"

#include <utility>

namespace penstock::exporting {

absl::StatusOr<std::unique_ptr<HostDelivery>> HostDelivery::Make(uint64_t session_id,
                                                                 uint32_t window) {
  PENSTOCK_ASSIGN_OR_RETURN(SessionPage page, SessionPage::Make(session_id, window));
  return std::unique_ptr<HostDelivery>(new HostDelivery(std::move(page)));
}

void HostDelivery::Announce(const shm::ControlEntry& entry, const FullSlot&) {
  page_.Announce(entry);
  outstanding_.push_back(entry.sequence);
}

// Reads releases before the count of taken batches, because a consumer takes a batch before it
// releases it.
BatchDelivery::Heard HostDelivery::Listen() {
  Heard heard;
  std::erase_if(outstanding_, [&](uint64_t sequence) {
    if (!page_.Released(sequence)) return false;
    heard.released.push_back(sequence);
    return true;
  });
  heard.taken = page_.taken();
  return heard;
}

}  // namespace penstock::exporting
