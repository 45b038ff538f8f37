// Device delivery: each batch is copied to the GPU, whole, and announced when its copy is complete.
// Here the daemon is the pool's consumer: it lets go of the host slot as soon as the batch is on
// the GPU. The real consumer holds a device slot, and gives it back on its page: with its own hand,
// or with its GPU's, behind the work that reads it.
//
// Labels and ids that the host wants to read are kept behind the page, one place for each batch
// that the session can have on the device.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "server/export/delivery.h"
#include "server/export/gpu.h"
#include "server/export/session_page.h"

namespace penstock::exporting {

class DeviceDelivery final : public Delivery {
 public:
  // 1 ≤ window ≤ shm::kControlCapacity; `rows`: of a full batch.
  static absl::StatusOr<std::unique_ptr<DeviceDelivery>> Make(uint64_t session_id, uint32_t window,
                                                              uint32_t rows, DeviceSeat seat);
  // Lets go of everything: the consumer's process is gone, or has released all.
  ~DeviceDelivery() override;

  bool reads_pool() const override { return false; }
  const posix::Fd& memory() const override { return page_.memory(); }
  uint64_t memory_bytes() const override { return page_.bytes(); }
  const posix::Fd& event() const override { return page_.event(); }
  void Announce(const shm::ControlEntry& entry, const FullSlot& slot) override;
  Heard Listen() override;
  Waiting LookAtConsumer() const override {
    return {page_.untaken(), page_.consumer_asleep(), page_.left()};
  }
  // Said once the batches before it were announced; at once where none of them can be any more.
  void Finish(shm::SessionState state, const absl::Status& reason) override;
  void SetAsleep(bool asleep) override { page_.SetAsleep(asleep); }
  bool MustBePolled() const override { return !out_.empty(); }
  bool Leave() override;

  DeviceSeat& seat() { return seat_; }
  const DeviceSeat& seat() const { return seat_; }

  // As the consumer says, for status.
  struct Progress {
    uint64_t announced = 0, taken = 0, released = 0;
    uint32_t on_device = 0;  // batches copied, or being copied, and not released
  };
  Progress progress() const;

 private:
  // A batch that the consumer does not know of yet.
  struct Coming {
    shm::ControlEntry entry;
    FullSlot slot;
    std::optional<DeviceSlotId> on_device;
  };
  // A batch in the consumer's hands.
  struct Out {
    uint64_t sequence = 0;
    DeviceSlotId on_device;
    uint64_t notes_offset = 0;
  };
  DeviceDelivery(SessionPage page, uint32_t rows, DeviceSeat seat);
  void HearReleases();
  void TakeBack(const Out& out);
  void DropUntaken();
  void Advance();
  void AnnounceHead();
  void SayFinished();
  uint64_t WriteNotes(const FullSlot& slot);
  void DropComing();

  SessionPage page_;
  const uint32_t rows_;
  DeviceSeat seat_;
  std::deque<Coming> coming_;
  std::vector<Out> out_;
  std::vector<uint64_t> free_notes_;  // offsets in the session's memory
  uint32_t on_device_ = 0;            // device slots held
  uint64_t announced_ = 0, released_ = 0;
  std::vector<uint64_t> copied_;  // sequences to report
  std::optional<std::pair<shm::SessionState, absl::Status>> finish_;
};

}  // namespace penstock::exporting
