#include "server/export/session_page.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "common/base/check.h"
#include "common/posix/futex.h"

namespace penstock::exporting {

absl::StatusOr<SessionPage> SessionPage::Make(uint64_t session_id, uint32_t window,
                                              uint64_t notes_bytes) {
  PENSTOCK_CHECK(window >= 1 && window <= shm::kControlCapacity);
  SessionPage session;
  session.notes_bytes_ = notes_bytes;
  PENSTOCK_ASSIGN_OR_RETURN(session.memory_,
                            posix::MakeMemory("penstock-session", session.bytes()));
  PENSTOCK_ASSIGN_OR_RETURN(session.event_, posix::MakeEvent());
  PENSTOCK_ASSIGN_OR_RETURN(session.mapping_, posix::Mapping::Map(session.memory_, session.bytes(),
                                                                  posix::Access::kReadWrite));
  auto* page = new (session.mapping_.data()) shm::ControlPage();
  page->magic = shm::kControlMagic;
  page->version = shm::kControlVersion;
  page->capacity = shm::kControlCapacity;
  page->session_id = session_id;
  page->window = window;
  page->state.store(static_cast<uint32_t>(shm::SessionState::kOpen), std::memory_order_release);
  return session;
}

void SessionPage::Announce(const shm::ControlEntry& entry) {
  PENSTOCK_CHECK(entry.sequence == announced_ + 1);
  shm::ControlPage& shared = page();
  shared.entries[announced_ % shm::kControlCapacity] = entry;
  shared.announced.store(++announced_, std::memory_order_release);
  WakeConsumer();
}

void SessionPage::Finish(shm::SessionState state, const absl::Status& reason) {
  shm::ControlPage& shared = page();
  const auto open = static_cast<uint32_t>(shm::SessionState::kOpen);
  if (shared.state.load(std::memory_order_relaxed) != open) return;
  shared.error_code = static_cast<uint32_t>(reason.code());
  const size_t length = std::min(reason.message().size(), sizeof(shared.error) - 1);
  if (length > 0) std::memcpy(shared.error, reason.message().data(), length);  // OK has no bytes
  shared.error[length] = '\0';
  shared.state.store(static_cast<uint32_t>(state), std::memory_order_release);
  WakeConsumer();
}

void SessionPage::WantHosts(uint32_t hosts) {
  page().hosts_wanted.store(hosts, std::memory_order_release);
  WakeConsumer();
}

void SessionPage::SetAsleep(bool asleep) {
  page().daemon_asleep.store(asleep ? 1 : 0, std::memory_order_seq_cst);
}

// `bell` changes before the flag is read: a consumer that sets the flag and then finds `bell`
// unchanged is still awake and looks again.
void SessionPage::WakeConsumer() {
  shm::ControlPage& shared = page();
  shared.wakeup.fetch_add(1, std::memory_order_seq_cst);
  if (shared.consumer_asleep.load(std::memory_order_seq_cst) != 0) posix::FutexWake(shared.wakeup);
}

}  // namespace penstock::exporting
