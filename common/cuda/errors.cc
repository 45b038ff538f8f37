#include "common/cuda/errors.h"

#include "absl/strings/cord.h"
#include "common/cuda/device.h"

namespace penstock::cuda {
namespace {

constexpr char kStickyPayload[] = "penstock.cuda/sticky";

// Errors after which every call in this context fails.
bool Sticks(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

absl::StatusCode ToStatusCode(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice:
      return absl::StatusCode::kInvalidArgument;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNotSupported:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureImplicit:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status ToStatus(absl::StatusCode code, cudaError_t error, absl::string_view what,
                      absl::string_view remedy) {
  const bool sticks = Sticks(error);
  std::string text =
      absl::StrCat(what, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
  if (sticks) remedy = "this process can no longer use CUDA: restart it";
  if (!remedy.empty()) absl::StrAppend(&text, "; ", remedy);
  absl::Status status(sticks ? absl::StatusCode::kInternal : code, text);
  if (sticks) status.SetPayload(kStickyPayload, absl::Cord(cudaGetErrorName(error)));
  return status;
}

}  // namespace

absl::Status FromRuntimeAs(absl::StatusCode code, cudaError_t error, absl::string_view what,
                           absl::string_view remedy) {
  if (error == cudaSuccess) return absl::OkStatus();
  static_cast<void>(cudaGetLastError());
  return ToStatus(code, error, what, remedy);
}

absl::Status FromRuntime(cudaError_t error, absl::string_view what, absl::string_view remedy) {
  return FromRuntimeAs(ToStatusCode(error), error, what, remedy);
}

absl::Status FromDriver(CUresult result, absl::string_view what, absl::string_view remedy) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const auto error = static_cast<cudaError_t>(result);
  return ToStatus(ToStatusCode(error), error, what, remedy);
}

void Ignore(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
}

bool IsSticky(const absl::Status& status) { return status.GetPayload(kStickyPayload).has_value(); }

}  // namespace penstock::cuda
