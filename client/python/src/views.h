// Further images of a batch for Python: where they are finished to, and how.
//
// **Requires**: the GIL, except in ViewsInto's functions.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "client/python/src/tensors.h"
#include "penstock/penstock.h"

namespace penstock::python {

// (index into the session's tensors, finish, effects or none, address, bytes)
using ViewDestination =
    std::tuple<uint32_t, Finish, std::optional<EffectOptions>, Address, uint64_t>;

// What a finish needs of them. **Ownership**: of all that `tensors` points to, but the caller's
// memory for the images.
class ViewsInto {
 public:
  // Draws the effects for this batch. `destinations` must outlive the object.
  static Result<ViewsInto> For(const std::vector<ViewDestination>& destinations,
                               const std::vector<Field>& fields, const Batch& batch);

  // Appends them to the tensors of a finish; valid while this object is.
  void AppendTo(std::vector<TensorInto>& tensors) const;

 private:
  struct View {
    const ViewDestination* destination;
    std::vector<Erasure> erasures;
    Effects effects;
  };
  std::vector<View> views_;
};

}  // namespace penstock::python
