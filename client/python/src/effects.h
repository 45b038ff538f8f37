// Effects of the finish for Python: their parameters, and how they are drawn for a batch.
//
// **Requires**: the GIL in every call, except DrawFor.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

#include "client/python/src/tensors.h"
#include "penstock/penstock.h"

namespace penstock::python {

// What a loader asks for: effects, and memory for their soft labels.
using RequestedEffects = std::optional<EffectOptions>;

// Bytes of a batch's soft labels.
inline uint64_t SoftBytes(const RequestedEffects& effects, uint32_t rows) {
  return effects ? uint64_t{rows} * effects->classes * sizeof(float) : 0;
}

// The effects on this batch, none if none were requested. Refuses if their soft labels are wanted
// and `bytes` is too small. Batch and result stay the caller's; any thread.
Result<DrawnEffects> DrawFor(const RequestedEffects& effects, const Batch& batch,
                             Address soft_labels, uint64_t bytes);

void BindEffects(nanobind::module_& module);

}  // namespace penstock::python
