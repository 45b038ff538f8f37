// A batch that Python holds: its views are arrays that keep it, and the slot goes back when the
// last of them is gone.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

void BindLease(nanobind::module_& module);

}  // namespace penstock::python
