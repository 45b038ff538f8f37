#include "server/export/host_delivery.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "common/base/check.h"
#include "common/posix/futex.h"

namespace penstock::exporting {

absl::StatusOr<HostDelivery> HostDelivery::Make(uint64_t session_id, uint32_t window) {
  PENSTOCK_CHECK(window >= 1 && window <= shm::kControlCapacity);
  HostDelivery delivery;
  PENSTOCK_ASSIGN_OR_RETURN(delivery.memory_,
                            posix::MakeMemory("penstock-control", shm::kControlBytes));
  PENSTOCK_ASSIGN_OR_RETURN(delivery.event_, posix::MakeEvent());
  PENSTOCK_ASSIGN_OR_RETURN(
      delivery.mapping_,
      posix::Mapping::Map(delivery.memory_, shm::kControlBytes, posix::Access::kReadWrite));
  auto* page = new (delivery.mapping_.data()) shm::ControlPage();
  page->magic = shm::kControlMagic;
  page->version = shm::kControlVersion;
  page->capacity = shm::kControlCapacity;
  page->session_id = session_id;
  page->window = window;
  page->state.store(static_cast<uint32_t>(shm::SessionState::kOpen), std::memory_order_release);
  return delivery;
}

void HostDelivery::Announce(const shm::ControlEntry& entry) {
  PENSTOCK_CHECK(entry.sequence == announced_ + 1);
  shm::ControlPage& shared = page();
  shared.entries[announced_ % shm::kControlCapacity] = entry;
  shared.announced.store(++announced_, std::memory_order_release);
  WakeConsumer();
}

void HostDelivery::Finish(shm::SessionState state, const absl::Status& reason) {
  shm::ControlPage& shared = page();
  const auto open = static_cast<uint32_t>(shm::SessionState::kOpen);
  if (shared.state.load(std::memory_order_relaxed) != open) return;
  shared.error_code = static_cast<uint32_t>(reason.code());
  const size_t length = std::min(reason.message().size(), sizeof(shared.error) - 1);
  std::memcpy(shared.error, reason.message().data(), length);
  shared.error[length] = '\0';
  shared.state.store(static_cast<uint32_t>(state), std::memory_order_release);
  WakeConsumer();
}

void HostDelivery::SetAsleep(bool asleep) {
  page().daemon_asleep.store(asleep ? 1 : 0, std::memory_order_seq_cst);
}

// The bell changes before the flag is read: a consumer that sets the flag and then finds the bell as it
// was is still awake and looks again.
void HostDelivery::WakeConsumer() {
  shm::ControlPage& shared = page();
  shared.bell.fetch_add(1, std::memory_order_seq_cst);
  if (shared.consumer_asleep.load(std::memory_order_seq_cst) != 0) posix::FutexWake(shared.bell);
}

}  // namespace penstock::exporting
