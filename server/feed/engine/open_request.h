// What a session is opened with, and what it is granted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/decode/core/spec.h"
#include "server/export/gpus.h"
#include "server/feed/engine/rows.h"
#include "server/plan/plan.h"
#include "server/pool/pool.h"
#include "server/source/core/dataset.h"

namespace penstock::feed {

struct OpenRequest {
  uint64_t peer = 0;
  uint32_t user = 0;
  int32_t pid = 0;
  std::string client;  // program and version
  std::string name;
  std::shared_ptr<DatasetState> dataset;
  // What whoever opens it calls the dataset: others may have opened it by another name, which is
  // none of their business. Empty: its own name.
  std::string called = {};
  plan::Order order = plan::Order::kSequential;
  std::shared_ptr<const GivenOrder> given = {};  // in place of `order`; shared with who keeps it
  plan::GivenBy given_by = {};                   // of `given`
  plan::Windows windows = {};                    // of kShuffledInWindows
  std::optional<plan::Range> range = {};         // as FeedSpec's
  uint64_t seed = 0;
  decode::Spec decoding;        // of encoded samples
  source::Selection selection;  // as FeedSpec's
  plan::Share share;            // of the first epoch
  uint64_t first_epoch = 0;
  uint64_t epochs = 0;
  uint32_t window = 4;
  uint64_t expected_fingerprint = 0;  // 0: not checked
  bool fail_on_bad_sample = false;
  bool pinned = false;                             // its consumer copies from the pool itself
  std::optional<exporting::DeviceRequest> device;  // of device delivery
  std::string delivery_reason;                     // why this delivery, for status
  bool canary = false;  // the daemon's own: counts nowhere but in the pool

  const std::string& dataset_name() const { return called.empty() ? dataset->name : called; }
};

// Of device delivery.
struct DeviceGrant {
  uint32_t depth = 0;
  exporting::HandleChoice handle;
  std::vector<exporting::SlabFacts> slabs;
};

struct Grant {
  uint64_t session = 0;
  uint64_t fingerprint = 0;
  pool::SlotLayout layout;
  source::RowLayout row;  // whoever fills it
  uint64_t first_epoch_batches = 0;
  uint64_t epoch_batches = 0;
  uint64_t quarantine_version = 0;
  std::optional<DeviceGrant> device;
};

}  // namespace penstock::feed
