// What status shows: plain numbers, copied on the runner's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/export/gpus.h"
#include "server/feed/core.h"
#include "server/pool/pool.h"

namespace penstock::feed {

struct FeedInfo {
  uint64_t fingerprint = 0;
  std::string dataset;
  uint32_t user = 0;
  uint32_t sessions = 0;
  FeedView counts;
};

struct GpuInfo {
  exporting::GpuView view;
  uint32_t batches_ahead = 0;  // copied and not taken
};

struct EngineView {
  pool::Usage pool;
  SlotCounts slots;
  uint64_t samples_decoded = 0;
  uint64_t samples_replaced = 0;
  std::vector<FeedInfo> feeds;
  std::vector<GpuInfo> gpus;
  absl::Status status;  // why nothing is delivered any more, if so
};

enum class DeliveryKind { kHost, kPinned, kDevice };

struct SessionInfo {
  uint64_t id = 0;
  std::string name, client, dataset, state;
  uint32_t user = 0;
  int32_t pid = 0;
  uint64_t fingerprint = 0;
  uint32_t rank = 0, world = 1, batch_size = 0, window = 0;
  uint64_t epoch = 0, consumed = 0;
  uint64_t announced = 0, taken = 0, released = 0;
  DeliveryKind delivery = DeliveryKind::kHost;
  std::string delivery_reason;
  // Of device delivery.
  std::string gpu;
  cuda::HandleKind handle = cuda::HandleKind::kIpc;
  uint32_t device_depth = 0, on_device = 0;
};

}  // namespace penstock::feed
