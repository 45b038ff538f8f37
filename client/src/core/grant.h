// What the daemon granted when it opened a session. Later announcements are checked against it.
// Plain values, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/shm/control_page.h"
#include "penstock/penstock.h"

namespace penstock::client {

// Parameters of synthetic rows, which are stored nowhere.
struct SyntheticRows {
  uint64_t seed = 0;
  uint64_t samples = 0;
  uint32_t classes = 0;
};

// Where a tensor is in a slot: row i at offset + i · row_stride.
struct TensorPlace {
  Field field;
  uint64_t offset = 0, row_stride = 0;
  uint64_t lengths_offset = 0;  // variable length only: an int32 for each row
  uint64_t row_bytes = 0;       // one row's values, without gaps
  bool operator==(const TensorPlace&) const = default;
};

// Where a Python dataset's batches are in a slot, and what a host shows to enter the doorway.
struct MadeBatches {
  uint64_t data_offset = 0;      // of a batch in its slot; page-aligned
  uint64_t max_batch_bytes = 0;  // most bytes of a batch
  std::string host_token = {};   // shm::kHostTokenBytes bytes
};

struct Grant {
  uint64_t session_id = 0, fingerprint = 0, quarantine_version = 0;
  std::string dataset = {};  // as requested
  uint64_t files = 0;        // identifies its files and their state; 0: unknown
  uint64_t digest = 0;       // DatasetInfo::digest
  uint32_t batch_size = 0;   // rows in a slot
  uint64_t row_bytes = 0;    // of stored images; 0 for synthetic rows
  uint32_t height = 0, width = 0, channels = 0;
  // Undecoded rows: bytes of a row's place in a slot, from which the row is made; 0: rows are as
  // they are. `row_bytes` is then that of a place.
  uint64_t place_bytes = 0;
  bool fail_on_bad_sample = false;  // also of rows that this process decodes
  uint64_t labels_offset = 0, ids_offset = 0, slot_bytes = 0;
  uint64_t samples = 0, epoch_samples = 0;  // in the dataset, in an epoch
  uint32_t classes = 0;
  uint64_t first_epoch_batches = 0, epoch_batches = 0;
  uint32_t window = 0;  // maximum of announced, unreleased batches
  Delivery delivery = Delivery::kHost;
  HandleKind handle = HandleKind::kAuto;  // device delivery only
  uint32_t device_depth = 0;              // batches in GPU memory at once
  std::optional<SyntheticRows> synthetic = {};
  std::string reason = {};  // why this delivery and this handle
  std::vector<TensorPlace> tensors = {};
  bool labeled = true;
  std::optional<MadeBatches> made = {};  // for a Python dataset

  uint64_t row_elements() const { return uint64_t{height} * width * channels; }
};

// Checks that all parts fit into a slot where the grant says. Internal names the conflicting
// numbers.
absl::Status CheckGrant(const Grant& grant);

// Checks that a session that was opened again continues the feed that it had. FailedPrecondition:
// it is another feed. DataLoss: its files changed.
absl::Status CheckSameFeed(const Grant& before, const Grant& now);

// Checks an announcement that was copied from shared memory: it is batch number `sequence`, and
// is within a segment of `segment_bytes`. Internal names the invalid number.
absl::Status CheckEntry(const shm::ControlEntry& entry, uint64_t sequence, const Grant& grant,
                        uint64_t segment_bytes);

// Checks that the labels and ids of an announcement on a device ("notes") are within the session's
// memory, after its control page.
absl::Status CheckNotes(const shm::ControlEntry& entry, const Grant& grant, uint64_t memory_bytes);

}  // namespace penstock::client
