// GPUs as this process sees them. The public headers of this folder include no CUDA header, so code
// that includes them compiles without a toolkit; in a build without one, every call returns an
// error that says so.
//
// **Thread safety**: any thread. Only DeviceScope creates a CUDA context.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::cuda {

// Identifies a GPU in every process; ordinals differ between processes.
struct Uuid {
  std::array<uint8_t, 16> bytes = {};
  auto operator<=>(const Uuid&) const = default;
  std::string ToString() const;  // "GPU-8f1c…", as nvidia-smi prints it
  // InvalidArgument unless it has 16 bytes.
  static absl::StatusOr<Uuid> FromBytes(absl::string_view bytes);
};

struct Device {
  int ordinal = 0;  // in this process
  Uuid uuid = {};
  std::string name;
  uint64_t memory_bytes = 0;
  bool exclusive = false;          // compute mode: one process at a time may use it
  bool prohibited = false;         // compute mode: no process may use it
  bool stream_memory_ops = false;  // cuStreamWriteValue64
  bool vmm_descriptors = false;    // supports memory exported as a descriptor
  int numa_node = -1;              // -1: unknown
};

// Whether CUDA can be used here.
//
// **Errors**: FailedPrecondition says why not and what to do: this build has no CUDA; no driver;
// the driver is too old (with both versions); no GPU is visible.
absl::Status Usable();

// All visible GPUs, by ordinal. **Errors**: as Usable.
absl::StatusOr<std::vector<Device>> Devices();

// **Errors**: NotFound names the GPU and the visible ones.
absl::StatusOr<Device> FindDevice(const Uuid& uuid);

// Text for people, like "CUDA 13.0, driver 580.159"; "none" without CUDA.
std::string Versions();

// The device that is current on this thread; 0 on a thread that has not chosen one. **Errors**: as
// Usable.
absl::StatusOr<int> CurrentDevice();

// Makes a device current on this thread for a scope, together with its primary context, which the
// runtime also uses: the first scope in a process creates that context. The destructor restores the
// thread's previous context. Cheap if the device is current already.
class DeviceScope {
 public:
  explicit DeviceScope(int ordinal);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  // Not OK: the device could not be opened. Another device may be current, so do nothing in this
  // scope.
  const absl::Status& status() const { return status_; }

 private:
  [[maybe_unused]] bool pushed_ = false;  // unused in a build without CUDA
  absl::Status status_;
};

// Whether an error from this folder is "sticky": the context does not recover, and every later call
// in this process fails, too.
bool IsSticky(const absl::Status& status);

}  // namespace penstock::cuda
