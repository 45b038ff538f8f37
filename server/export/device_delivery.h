// Device delivery: copies each whole batch to the GPU and announces it when the copy is complete.
//
// Towards the pool, the daemon is the consumer: it releases the host slot as soon as the batch is
// on the GPU. The real consumer holds a device slot and releases it on its page, either from the
// host or from its GPU behind the kernels that read it.
//
// Labels and ids for the host ("notes") are stored behind the control page, with space for each
// batch that the session can have on the device.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "server/export/delivery.h"
#include "server/export/gpu.h"
#include "server/export/session_page.h"

namespace penstock::exporting {

class DeviceDelivery final : public BatchDelivery {
 public:
  // 1 ≤ window ≤ shm::kControlCapacity; `rows`: rows of a full batch.
  static absl::StatusOr<std::unique_ptr<DeviceDelivery>> Make(uint64_t session_id, uint32_t window,
                                                              uint32_t rows,
                                                              DeviceReservation reservation);
  // Releases everything. **Requires**: the consumer's process is gone or has released all its
  // batches.
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
  // Takes effect once all earlier batches are announced, or at once if they no longer can be.
  void Finish(shm::SessionState state, const absl::Status& reason) override;
  void SetAsleep(bool asleep) override { page_.SetAsleep(asleep); }
  bool MustBePolled() const override { return !out_.empty(); }
  bool Leave() override;

  DeviceReservation& reservation() { return reservation_; }
  const DeviceReservation& reservation() const { return reservation_; }

  // What the consumer reports, for status.
  struct CopyProgress {
    uint64_t announced = 0, taken = 0, released = 0;
    uint32_t on_device = 0;  // batches copied or being copied, and not released
  };
  CopyProgress progress() const;

 private:
  // A batch not yet announced to the consumer.
  struct Coming {
    shm::ControlEntry entry;
    FullSlot slot;
    std::optional<DeviceSlotId> on_device;
  };
  // A batch announced to the consumer and not released.
  struct Out {
    uint64_t sequence = 0;
    DeviceSlotId on_device;
    uint64_t notes_offset = 0;
  };
  DeviceDelivery(SessionPage page, uint32_t rows, DeviceReservation reservation);
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
  DeviceReservation reservation_;
  std::deque<Coming> coming_;
  std::vector<Out> out_;
  std::vector<uint64_t> free_notes_;  // free offsets in the session's memory
  uint32_t on_device_ = 0;            // device slots held
  uint64_t announced_ = 0, released_ = 0;
  std::vector<uint64_t> copied_;  // sequences to report
  std::optional<std::pair<shm::SessionState, absl::Status>> finish_;
};

}  // namespace penstock::exporting
