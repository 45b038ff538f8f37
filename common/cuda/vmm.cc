#include "common/cuda/vmm.h"

#include <fcntl.h>

#include <utility>

#include "common/cuda/device.h"
#include "common/cuda/driver.h"
#include "common/cuda/errors.h"

namespace penstock::cuda::vmm {
namespace {

constexpr CUmemAllocationHandleType kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUmemLocation On(int device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemAllocationProp PropertiesOn(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = kDescriptor;
  properties.location = On(device);
  return properties;
}

absl::Status Allow(const Driver& driver, int device, CUdeviceptr at, uint64_t bytes,
                   CUmemAccess_flags flags) {
  CUmemAccessDesc access = {};
  access.location = On(device);
  access.flags = flags;
  return FromDriver(driver.set_access(at, bytes, &access, 1), "opening GPU memory for access",
                    "it may be on another GPU than the current one");
}

// Owns a handle until the caller takes it.
class Handle {
 public:
  Handle(const Driver& driver, CUmemGenericAllocationHandle value)
      : driver_(driver), value_(value) {}
  ~Handle() {
    if (owned_) static_cast<void>(driver_.release(value_));
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CUmemGenericAllocationHandle get() const { return value_; }
  CUmemGenericAllocationHandle Take() {
    owned_ = false;
    return value_;
  }

 private:
  const Driver& driver_;
  CUmemGenericAllocationHandle value_;
  bool owned_ = true;
};

absl::StatusOr<std::byte*> Map(const Driver& driver, int device,
                               CUmemGenericAllocationHandle handle, uint64_t bytes,
                               CUmemAccess_flags flags) {
  CUdeviceptr at = 0;
  PENSTOCK_RETURN_IF_ERROR(FromDriver(driver.reserve(&at, bytes, 0, 0, 0),
                                      absl::StrCat("reserving ", bytes, " bytes of addresses")));
  absl::Status failed = FromDriver(driver.map(at, bytes, 0, handle, 0), "mapping GPU memory",
                                   "its size may differ from the announced one");
  if (!failed.ok()) {
    static_cast<void>(driver.free_reserved(at, bytes));
    return failed;
  }
  failed = Allow(driver, device, at, bytes, flags);
  if (!failed.ok()) {
    static_cast<void>(driver.unmap(at, bytes));
    static_cast<void>(driver.free_reserved(at, bytes));
    return failed;
  }
  return reinterpret_cast<std::byte*>(at);
}

absl::StatusOr<posix::Fd> Export(const Driver& driver, CUmemGenericAllocationHandle handle) {
  int number = -1;
  PENSTOCK_RETURN_IF_ERROR(FromDriver(driver.export_handle(&number, handle, kDescriptor, 0),
                                      "exporting GPU memory as a descriptor"));
  posix::Fd descriptor(number);
  if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    return base::ErrnoStatus(errno, "keeping GPU memory's descriptor from child programs");
  }
  return descriptor;
}

absl::Status CheckGranularity(const Driver& driver, const CUmemAllocationProp& properties,
                              uint64_t bytes) {
  size_t granule = 0;
  PENSTOCK_RETURN_IF_ERROR(FromDriver(
      driver.granularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      "asking how GPU memory may be exported", "this GPU cannot export memory as a descriptor"));
  if (granule > 0 && bytes % granule == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this GPU exports memory in multiples of ", granule, " bytes, wanted ", bytes));
}

}  // namespace

absl::StatusOr<Exported> Make(int device, uint64_t bytes) {
  const DeviceScope scope(device);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  const CUmemAllocationProp properties = PropertiesOn(device);
  PENSTOCK_RETURN_IF_ERROR(CheckGranularity(*driver, properties, bytes));
  CUmemGenericAllocationHandle made = 0;
  PENSTOCK_RETURN_IF_ERROR(FromDriver(driver->create(&made, bytes, &properties, 0),
                                      absl::StrCat("allocating ", bytes, " bytes on the GPU")));
  Handle handle(*driver, made);
  Exported exported;
  PENSTOCK_ASSIGN_OR_RETURN(exported.descriptor, Export(*driver, handle.get()));
  PENSTOCK_ASSIGN_OR_RETURN(
      exported.data, Map(*driver, device, handle.get(), bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  exported.handle = handle.Take();
  return exported;
}

absl::StatusOr<std::byte*> Import(int device, const posix::Fd& descriptor, uint64_t bytes) {
  const DeviceScope scope(device);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  CUmemGenericAllocationHandle imported = 0;
  const CUresult result = driver->import_handle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())), kDescriptor);
  if (result != CUDA_SUCCESS) {
    const absl::Status failed =
        FromDriver(result, "opening another process's GPU memory (descriptor)",
                   "the exporter's GPU is not visible here, or the descriptor is not GPU memory");
    if (IsSticky(failed)) return failed;
    return absl::FailedPreconditionError(failed.message());
  }
  const Handle handle(*driver, imported);
  return Map(*driver, device, handle.get(), bytes, CU_MEM_ACCESS_FLAGS_PROT_READ);
}

absl::Status AllowToRead(int device, std::byte* data, uint64_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  return Allow(*driver, device, reinterpret_cast<CUdeviceptr>(data), bytes,
               CU_MEM_ACCESS_FLAGS_PROT_READ);
}

void Unmap(int device, std::byte* data, uint64_t bytes) {
  const absl::StatusOr<const Driver*> driver = GetDriver();
  if (!driver.ok()) return;
  const DeviceScope scope(device);
  const auto at = reinterpret_cast<CUdeviceptr>(data);
  static_cast<void>((*driver)->unmap(at, bytes));
  static_cast<void>((*driver)->free_reserved(at, bytes));
}

void Release(int device, uint64_t handle) {
  const absl::StatusOr<const Driver*> driver = GetDriver();
  if (!driver.ok()) return;
  const DeviceScope scope(device);
  static_cast<void>((*driver)->release(handle));
}

}  // namespace penstock::cuda::vmm
