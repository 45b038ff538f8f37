// Host delivery: the consumer reads the slot in place, in the pool, and releases it on its page.
#pragma once

#include <memory>
#include <vector>

#include "server/export/delivery.h"
#include "server/export/session_page.h"

namespace penstock::exporting {

class HostDelivery final : public BatchDelivery {
 public:
  // 1 ≤ window ≤ shm::kControlCapacity.
  static absl::StatusOr<std::unique_ptr<HostDelivery>> Make(uint64_t session_id, uint32_t window);

  const posix::Fd& memory() const override { return page_.memory(); }
  uint64_t memory_bytes() const override { return page_.bytes(); }
  const posix::Fd& event() const override { return page_.event(); }
  void Announce(const shm::ControlEntry& entry, const FullSlot& slot) override;
  Heard Listen() override;
  Waiting LookAtConsumer() const override {
    return {page_.untaken(), page_.consumer_asleep(), page_.left(), page_.hosts_forked()};
  }
  void WantHosts(uint32_t hosts) override { page_.WantHosts(hosts); }
  void Finish(shm::SessionState state, const absl::Status& reason) override {
    page_.Finish(state, reason);
  }
  void SetAsleep(bool asleep) override { page_.SetAsleep(asleep); }

 private:
  explicit HostDelivery(SessionPage page) : page_(std::move(page)) {}

  SessionPage page_;
  std::vector<uint64_t> outstanding_;  // announced, not released
};

}  // namespace penstock::exporting
