// Finds out whether CUDA can be used here, and with which versions; if not, says why in words.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <fstream>

#include "common/cuda/device.h"
#include "common/cuda/errors.h"

namespace penstock::cuda {
namespace {

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// The release that the kernel module reports; empty if it does not.
std::string DriverRelease() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string release;
  file >> release;
  return release;
}

// The CUDA version that the driver supports; 0 if there is no driver.
int DriverVersion() {
  int version = 0;
  Ignore(cudaDriverGetVersion(&version));
  return version;
}

int RuntimeVersion() {
  int version = CUDART_VERSION;
  Ignore(cudaRuntimeGetVersion(&version));
  return version;
}

absl::Status NoDriver() {
  return absl::FailedPreconditionError(
      absl::StrCat("this machine has no NVIDIA driver (libcuda.so.1 was not found); install one "
                   "that supports CUDA ",
                   VersionText(RuntimeVersion()),
                   ", or give the container access to GPUs; without a driver, batches are "
                   "delivered in host memory"));
}

absl::Status DriverTooOld(int driver) {
  const std::string release = DriverRelease();
  return absl::FailedPreconditionError(absl::StrCat(
      "the NVIDIA driver", release.empty() ? "" : " ", release, " supports CUDA ",
      VersionText(driver), ", this build needs CUDA ", VersionText(RuntimeVersion()),
      "; update the driver (CUDA 13 needs 580 or newer), or build with an older toolkit"));
}

absl::Status NoneVisible() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return absl::FailedPreconditionError(
      visible != nullptr
          ? absl::StrCat("no GPU is visible here: CUDA_VISIBLE_DEVICES is '", visible,
                         "'; unset it, or set it to a GPU that nvidia-smi -L lists")
          : "no GPU is visible here; give this process or its container access to one");
}

}  // namespace

absl::Status Usable() {
  const int driver = DriverVersion();
  if (driver == 0) return NoDriver();
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return absl::OkStatus();
  Ignore(error);
  if (error == cudaErrorInsufficientDriver) return DriverTooOld(driver);
  if (error == cudaSuccess || error == cudaErrorNoDevice) return NoneVisible();
  return FromRuntimeAs(absl::StatusCode::kFailedPrecondition, error, "looking for GPUs",
                       "check whether nvidia-smi works here");
}

std::string Versions() {
  const int driver = DriverVersion();
  if (driver == 0) return "none";
  const std::string release = DriverRelease();
  return absl::StrCat("CUDA ", VersionText(RuntimeVersion()), ", driver ",
                      release.empty() ? "of unknown release" : release, " (CUDA ",
                      VersionText(driver), ")");
}

}  // namespace penstock::cuda
