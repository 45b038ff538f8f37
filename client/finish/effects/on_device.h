// The finish with effects on a GPU: as ../on_device.h, with the same bits as effects.h.
//
// One launch for a batch, in which all effects happen; with erased boxes one for every 383 rows, or
// 191 if they are filled with noise, because boxes are the kernel's arguments.
#pragma once

#include <cstdint>
#include <span>

#include "client/finish/effects/effects.h"
#include "common/cuda/stream.h"

namespace penstock::finish {

// `labels`: one for each row, if they are copied or if soft labels are wanted. The caller has
// checked that they fit the classes.
absl::Status ApplyWithEffectsOnDevice(const Spec& spec, const Effects& effects, const Shape& shape,
                                      std::span<const uint8_t> rows,
                                      std::span<const int64_t> labels, std::span<std::byte> into,
                                      std::span<int64_t> labels_into, cuda::StreamHandle stream);

absl::Status SynthesizeWithEffectsOnDevice(const Synthetic& what, const Spec& spec,
                                           const Effects& effects, const Shape& shape,
                                           std::span<std::byte> into,
                                           std::span<int64_t> labels_into,
                                           cuda::StreamHandle stream);

}  // namespace penstock::finish
