// Device memory shared between processes: one process makes and exports a slab, others open it.
// There are two kinds of handle.
//
// **Ownership**: each owner is move-only and remembers its device.
// **Thread safety**: may be destroyed on any thread, whatever device is current there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::cuda {

// Slab sizes are multiples of this. A smaller allocation would share its block with other
// allocations, which an export would expose.
inline constexpr uint64_t kSlabGranule = 2u << 20;

enum class HandleKind : uint32_t {
  kIpc = 1,  // 64 bytes that can be sent anywhere; fails if exporter and importer have equal PIDs
  kVmm = 2,  // a descriptor; the importer maps it read-only
};

inline constexpr size_t kIpcHandleBytes = 64;
using IpcHandle = std::array<std::byte, kIpcHandleBytes>;

// Memory made for export.
//
// **Requires**: destroyed only when no other process has it open, because freeing imported memory
// is undefined.
class Slab {
 public:
  // Allocates on the current device; `bytes` is a positive multiple of kSlabGranule.
  //
  // **Errors**: ResourceExhausted if the device has no free memory; FailedPrecondition if it cannot
  // export this kind.
  static absl::StatusOr<Slab> Make(HandleKind kind, uint64_t bytes);
  Slab() = default;
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&& other) noexcept;
  ~Slab();

  HandleKind kind() const { return kind_; }
  uint64_t bytes() const { return bytes_; }
  std::byte* data() const { return data_; }                    // on the device
  const IpcHandle& ipc_handle() const { return ipc_; }         // of kIpc
  const posix::Fd& descriptor() const { return descriptor_; }  // of kVmm

 private:
  HandleKind kind_ = HandleKind::kIpc;
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  [[maybe_unused]] int device_ = 0;
  [[maybe_unused]] uint64_t vmm_handle_ = 0;
  IpcHandle ipc_ = {};
  posix::Fd descriptor_;
};

// Another process's slab, opened here. The memory stays valid after the exporter ends.
class ImportedSlab {
 public:
  // Opens it on the current device. **Errors**: FailedPrecondition names the likely cause: equal
  // PIDs, a GPU that is not visible here, or a slab of this very process.
  static absl::StatusOr<ImportedSlab> OpenIpc(const IpcHandle& handle, uint64_t bytes);
  // Opens it read-only. The descriptor may be closed afterwards.
  static absl::StatusOr<ImportedSlab> OpenVmm(const posix::Fd& descriptor, uint64_t bytes);
  ImportedSlab() = default;
  ImportedSlab(ImportedSlab&& other) noexcept;
  ImportedSlab& operator=(ImportedSlab&& other) noexcept;
  ~ImportedSlab();

  uint64_t bytes() const { return bytes_; }
  const std::byte* data() const { return data_; }  // on the device

 private:
  [[maybe_unused]] HandleKind kind_ = HandleKind::kIpc;
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  [[maybe_unused]] int device_ = 0;
};

// Plain memory of this process on the current device. **Errors**: ResourceExhausted if there is no
// free memory.
class DeviceMemory {
 public:
  static absl::StatusOr<DeviceMemory> Make(uint64_t bytes);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();
  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  [[maybe_unused]] int device_ = 0;
};

}  // namespace penstock::cuda
