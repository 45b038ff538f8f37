// Binds a batch that Python holds. Its views are arrays that keep it alive; the slot is released
// when the last of them is gone.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

void BindLease(nanobind::module_& module);

}  // namespace penstock::python
