// Seeds the generators of `random` and of NumPy before each sample of a Python dataset.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

void BindSeeds(nanobind::module_& module);

}  // namespace penstock::python
