// What the daemon grants when it opens a session. The engine makes it, and server/rpc fills the
// response with it; there is no other type between the two.
//
// **Thread safety**: plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/shm/doorway_wire.h"
#include "server/export/device_grant.h"
#include "server/pool/slot_layout.h"
#include "server/session/request.h"
#include "server/source/core/row_layout.h"

namespace penstock::session {

// What a trainer shows the daemon about a host that it forks (doorway_wire.h).
struct HostGrant {
  std::array<unsigned char, shm::kHostTokenBytes> token = {};
  uint64_t max_batch_bytes = 0;
};

struct Grant {
  uint64_t session = 0;  // number of the session
  uint64_t fingerprint = 0;
  uint64_t files = 0;                       // the dataset's files and their state; 0: unknown
  uint64_t digest = 0;                      // the dataset's
  uint64_t samples = 0, epoch_samples = 0;  // in the dataset or range, in an epoch
  uint32_t classes = 0;
  bool labeled = true;
  std::optional<uint64_t> synthetic_seed = {};  // set if the consumer generates the rows
  source::RowLayout row = {};                   // what a row contains …
  pool::SlotLayout layout = {};                 // … and where its blocks are in a slot
  uint64_t first_epoch_batches = 0, epoch_batches = 0;
  uint32_t window = 0;
  uint64_t quarantine_version = 0;
  Delivery delivery = Delivery::kHost;
  std::optional<exporting::DeviceGrant> device = {};  // for kDevice
  std::optional<HostGrant> host = {};  // for Python datasets, whose `layout` is sparse
};

}  // namespace penstock::session
