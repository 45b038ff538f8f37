// What the daemon granted when it opened a session: numbers that later announcements are checked
// against. Plain values, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/shm/control_page.h"
#include "penstock/penstock.h"

namespace penstock::client {

// Rows that nobody stores: what they are made of.
struct SyntheticRows {
  uint64_t seed = 0;
  uint64_t samples = 0;
  uint32_t classes = 0;
};

// Where a tensor of a batch is: row i of it at offset + i · row_stride in the slot.
struct TensorPlace {
  Field field;
  uint64_t offset = 0, row_stride = 0;
  uint64_t lengths_offset = 0;  // of variable length: as many int32 as rows
  uint64_t row_bytes = 0;       // of one row's values
  bool operator==(const TensorPlace&) const = default;
};

struct Grant {
  uint64_t session_id = 0, fingerprint = 0, quarantine_version = 0;
  std::string dataset = {};  // as it was asked for
  uint64_t files = 0;        // which files it consists of, in which state; 0: not known
  uint32_t batch_size = 0;   // rows that fit a slot
  uint64_t row_bytes = 0;    // that are stored: none of synthetic rows
  uint32_t height = 0, width = 0, channels = 0;
  uint64_t labels_offset = 0, ids_offset = 0, slot_bytes = 0;
  uint64_t samples = 0, epoch_samples = 0;  // of the dataset; of an epoch
  uint32_t classes = 0;
  uint64_t first_epoch_batches = 0, epoch_batches = 0;
  uint32_t window = 0;  // batches that were announced and not released, at most
  Delivery delivery = Delivery::kHost;
  HandleKind handle = HandleKind::kAuto;  // of device delivery
  uint32_t device_depth = 0;              // batches in GPU memory at once
  std::optional<SyntheticRows> synthetic = {};
  std::string reason = {};  // why this delivery and this handle, in words
  std::vector<TensorPlace> tensors = {};
  bool labeled = true;

  uint64_t row_elements() const { return uint64_t{height} * width * channels; }
};

// Whether a slot can hold what it should where it should. Internal names the numbers that clash.
absl::Status CheckGrant(const Grant& grant);

// Whether an announcement, copied from shared memory, can be: batch number `sequence`, wholly
// inside a segment of `segment_bytes`. Internal names the number that cannot be.
absl::Status CheckEntry(const shm::ControlEntry& entry, uint64_t sequence, const Grant& grant,
                        uint64_t segment_bytes);

// Whether the notes of an announcement on a device are wholly inside the session's memory, behind
// its page.
absl::Status CheckNotes(const shm::ControlEntry& entry, const Grant& grant, uint64_t memory_bytes);

}  // namespace penstock::client
