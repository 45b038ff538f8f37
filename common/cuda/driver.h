// Driver functions that have no runtime equivalent. They are looked up once at run time, so that
// nothing links libcuda. Internal to this folder. Any thread; creates no context.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include "common/base/status.h"

namespace penstock::cuda {

struct Driver {
  PFN_cuDeviceGet_v2000 device_get = nullptr;
  PFN_cuDeviceGetAttribute_v2000 device_attribute = nullptr;
  PFN_cuDevicePrimaryCtxRetain_v7000 retain_primary = nullptr;
  PFN_cuCtxGetCurrent_v4000 current_context = nullptr;
  PFN_cuCtxPushCurrent_v4000 push_context = nullptr;
  PFN_cuCtxPopCurrent_v4000 pop_context = nullptr;
  PFN_cuStreamWriteValue64_v11070 write_value = nullptr;
  PFN_cuMemGetAddressRange_v3020 address_range = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 free_reserved = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  PFN_cuMemExportToShareableHandle_v10020 export_handle = nullptr;
  PFN_cuMemImportFromShareableHandle_v10020 import_handle = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
};

// **Errors**: FailedPrecondition if CUDA cannot be used (as Usable), or if a function is missing,
// which it names.
absl::StatusOr<const Driver*> GetDriver();

}  // namespace penstock::cuda
