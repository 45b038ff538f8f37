// The GPU's finish in a build without CUDA: every call fails.
#include "client/finish/effects/on_device.h"
#include "client/finish/on_device.h"
#include "client/finish/tensor.h"
#include "common/cuda/device.h"

namespace penstock::finish {

absl::Status ApplyOnDevice(const Spec&, const Shape&, std::span<const uint8_t>,
                           std::span<const int64_t>, std::span<std::byte>, std::span<int64_t>,
                           cuda::StreamHandle) {
  return cuda::Usable();
}

absl::Status SynthesizeOnDevice(const Synthetic&, const Spec&, const Shape&, std::span<std::byte>,
                                std::span<int64_t>, cuda::StreamHandle) {
  return cuda::Usable();
}

absl::Status ApplyWithEffectsOnDevice(const Spec&, const Effects&, const Shape&,
                                      std::span<const uint8_t>, std::span<const int64_t>,
                                      std::span<std::byte>, std::span<int64_t>,
                                      cuda::StreamHandle) {
  return cuda::Usable();
}

absl::Status SynthesizeWithEffectsOnDevice(const Synthetic&, const Spec&, const Effects&,
                                           const Shape&, std::span<std::byte>, std::span<int64_t>,
                                           cuda::StreamHandle) {
  return cuda::Usable();
}

absl::Status ConvertOnDevice(const TensorJob&, cuda::StreamHandle) { return cuda::Usable(); }

}  // namespace penstock::finish
