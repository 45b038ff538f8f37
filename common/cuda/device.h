// GPUs as this process sees them. No header of this room shows a CUDA header: whoever includes it
// compiles without a toolkit, and in a build without one every call says so.
//
// Any thread. Nothing here but DeviceScope makes a CUDA context.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::cuda {

// What names a GPU in every process alike; ordinals differ between processes.
struct Uuid {
  std::array<uint8_t, 16> bytes = {};
  auto operator<=>(const Uuid&) const = default;
  std::string ToString() const;  // "GPU-8f1c…", as nvidia-smi writes it
  // InvalidArgument unless it has 16 bytes.
  static absl::StatusOr<Uuid> FromBytes(absl::string_view bytes);
};

struct Device {
  int ordinal = 0;  // in this process
  Uuid uuid;
  std::string name;
  uint64_t memory_bytes = 0;
  bool exclusive = false;          // compute mode: another process may have it alone
  bool prohibited = false;         // compute mode: nobody may
  bool stream_memory_ops = false;  // cuStreamWriteValue64
  bool vmm_descriptors = false;    // memory that can be exported as a descriptor
  int numa_node = -1;              // -1: not known
};

// Whether CUDA can be used here at all. FailedPrecondition says why not, and what to do: this build
// has no CUDA; no driver; the driver is too old (with both versions); no GPU is visible.
absl::Status Usable();

// All visible GPUs, by ordinal. Errors as Usable.
absl::StatusOr<std::vector<Device>> Devices();

// NotFound names the GPU and those that are visible here.
absl::StatusOr<Device> FindDevice(const Uuid& uuid);

// "CUDA 13.0, driver 580.159"-like text for people; "none" without.
std::string Versions();

// The device that is current on this thread; 0 on one that has chosen none. Errors as Usable.
absl::StatusOr<int> CurrentDevice();

// Makes a device current on this thread for a scope, and with it the device's primary context,
// which the runtime uses, too: the first scope of a process makes that context. Afterwards the
// thread is as it was. Cheap when the device is current already.
class DeviceScope {
 public:
  explicit DeviceScope(int ordinal);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  // Not OK: the device could not be opened; another one may be current, so do nothing in this
  // scope.
  const absl::Status& status() const { return status_; }

 private:
  [[maybe_unused]] bool pushed_ = false;  // unused in a build without CUDA
  absl::Status status_;
};

// Whether an error of this room is one that the context does not recover from ("sticky"): every
// later call in this process fails, too.
bool IsSticky(const absl::Status& status);

}  // namespace penstock::cuda
