// GPU memory that Python arrays hold: a slot as it is, or a buffer of a pool into which a batch was
// finished. It is released when the last array of it is gone, after the last work of each stream
// that it was handed to.
//
// **Requires**: the GIL in every call.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>
#include <vector>

#include "penstock/device_pool.h"
#include "penstock/penstock.h"

namespace penstock::python {

// Shared by a loader and the memory of its batches.
using SharedPool = std::shared_ptr<DevicePool>;

class DeviceMemory {
 public:
  explicit DeviceMemory(SharedPool pool) : pool_(std::move(pool)) {}
  virtual ~DeviceMemory() = default;

  // Makes `stream` wait until the memory is filled; the release then waits for `stream`.
  virtual Status HandTo(Stream stream) = 0;
  DevicePool& pool() const { return *pool_; }
  const SharedPool& shared_pool() const { return pool_; }

 private:
  const SharedPool pool_;
};

// A batch that was taken on the pool's stream.
class LentSlot final : public DeviceMemory {
 public:
  LentSlot(SharedPool pool, Batch batch)
      : DeviceMemory(std::move(pool)), batch_(std::move(batch)) {}
  ~LentSlot() override;
  Status HandTo(Stream stream) override;

 private:
  Batch batch_;
  std::vector<Stream> readers_;
};

class PoolMemory final : public DeviceMemory {
 public:
  PoolMemory(SharedPool pool, DeviceBuffer buffer)
      : DeviceMemory(std::move(pool)), buffer_(std::move(buffer)) {}
  Status HandTo(Stream stream) override { return buffer_.UsableOn(stream); }
  DeviceBuffer& buffer() { return buffer_; }

 private:
  DeviceBuffer buffer_;
};

void BindDeviceMemory(nanobind::module_& module);

}  // namespace penstock::python
