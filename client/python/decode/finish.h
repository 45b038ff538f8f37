// Adds `finish` to the module: the finish of native batches on the CPU, for one image.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python::decode {

void BindFinish(nanobind::module_& module);

}  // namespace penstock::python::decode
