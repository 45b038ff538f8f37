#include "common/cuda/driver.h"

#include "common/cuda/device.h"
#include "common/cuda/errors.h"

namespace penstock::cuda {
namespace {

template <typename Function>
absl::Status Find(const char* name, unsigned int version, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream, &result);
  if (error != cudaSuccess) {
    return FromRuntime(error, absl::StrCat("looking up the driver's ", name));
  }
  if (result != cudaDriverEntryPointSuccess || found == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the driver has no ", name, " of CUDA ",
                                                      version / 1000, ".", version % 1000 / 10,
                                                      "; update the NVIDIA driver"));
  }
  function = reinterpret_cast<Function>(found);
  return absl::OkStatus();
}

absl::StatusOr<Driver> FindAll() {
  PENSTOCK_RETURN_IF_ERROR(Usable());
  Driver driver;
  PENSTOCK_RETURN_IF_ERROR(Find("cuDeviceGet", 2000, driver.device_get));
  PENSTOCK_RETURN_IF_ERROR(Find("cuDeviceGetAttribute", 2000, driver.device_attribute));
  PENSTOCK_RETURN_IF_ERROR(Find("cuDevicePrimaryCtxRetain", 7000, driver.retain_primary));
  PENSTOCK_RETURN_IF_ERROR(Find("cuCtxGetCurrent", 4000, driver.current_context));
  PENSTOCK_RETURN_IF_ERROR(Find("cuCtxPushCurrent", 4000, driver.push_context));
  PENSTOCK_RETURN_IF_ERROR(Find("cuCtxPopCurrent", 4000, driver.pop_context));
  PENSTOCK_RETURN_IF_ERROR(Find("cuStreamWriteValue64", 11070, driver.write_value));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemGetAddressRange", 3020, driver.address_range));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemAddressReserve", 10020, driver.reserve));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemAddressFree", 10020, driver.free_reserved));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemCreate", 10020, driver.create));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemRelease", 10020, driver.release));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemMap", 10020, driver.map));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemUnmap", 10020, driver.unmap));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemSetAccess", 10020, driver.set_access));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemExportToShareableHandle", 10020, driver.export_handle));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemImportFromShareableHandle", 10020, driver.import_handle));
  PENSTOCK_RETURN_IF_ERROR(Find("cuMemGetAllocationGranularity", 10020, driver.granularity));
  return driver;
}

}  // namespace

absl::StatusOr<const Driver*> GetDriver() {
  static const absl::StatusOr<Driver> found = FindAll();
  if (!found.ok()) return found.status();
  return &*found;
}

}  // namespace penstock::cuda
