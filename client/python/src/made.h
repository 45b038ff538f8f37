// Binds a made batch: an object with a writable buffer, which releases the batch when it dies.
#pragma once

#include <nanobind/nanobind.h>

#include "penstock/made.h"

namespace penstock::python {

// The object, which owns the batch. **Requires**: the GIL.
nanobind::object ToBuffer(MadeBatch made);

void BindMade(nanobind::module_& module);

}  // namespace penstock::python
