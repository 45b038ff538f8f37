// Implementation of DevicePool and DeviceBuffer: the returned blocks, and the streams and the event
// that order their reuse.
//
// Invariants: a block in `free_` may be written on stream() after its `read` event, if `was_read`.
// A block whose readers could not be recorded is neither reused nor freed before the pool is.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "client/src/gpu/gpu.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/device_pool.h"

namespace penstock::client {

struct PoolBlock {
  std::unique_ptr<Gpu::Memory> memory;
  std::unique_ptr<Gpu::Event> read;  // after its last readers
  bool was_read = false;             // `read` was recorded
  std::vector<Stream> readers = {};  // streams that it was handed to
};

class PoolCore {
 public:
  static absl::StatusOr<std::shared_ptr<PoolCore>> Make(std::shared_ptr<Gpu> gpu);
  static DevicePool ToPool(std::shared_ptr<PoolCore> core) { return DevicePool(std::move(core)); }

  int device() const { return gpu_->ordinal(); }
  Stream stream() const { return stream_->get(); }
  bool Forked() const;

  absl::StatusOr<std::unique_ptr<PoolBlock>> Take(uint64_t bytes);
  absl::Status Hand(PoolBlock& block, Stream stream);
  absl::Status Copy(PoolBlock& block, const void* from, uint64_t bytes, Stream stream);
  void GiveBack(std::unique_ptr<PoolBlock> block);
  absl::Status LetFollow(Stream stream);
  absl::Status Wait();
  absl::StatusOr<Stream> Behind(std::span<const Stream> streams);

 private:
  explicit PoolCore(std::shared_ptr<Gpu> gpu);
  std::unique_ptr<PoolBlock> TakeFree(uint64_t bytes);
  absl::StatusOr<std::unique_ptr<PoolBlock>> MakeBlock(uint64_t bytes);
  absl::Status NoteReaders(PoolBlock& block);

  const uint32_t generation_;       // fork generation
  const std::shared_ptr<Gpu> gpu_;  // shared with whoever opened it
  std::unique_ptr<Gpu::OwnStream> stream_;
  std::unique_ptr<Gpu::OwnStream> returns_;  // joins several readers of one block

  base::Mutex mark_mutex_;
  std::unique_ptr<Gpu::Event> mark_ PENSTOCK_GUARDED_BY(mark_mutex_);
  base::Mutex free_mutex_;
  std::deque<std::unique_ptr<PoolBlock>> free_ PENSTOCK_GUARDED_BY(free_mutex_);  // oldest first
  std::vector<std::unique_ptr<PoolBlock>> lost_ PENSTOCK_GUARDED_BY(free_mutex_);
};

}  // namespace penstock::client
