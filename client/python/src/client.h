// Binds the client and the plain values that it takes.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

void BindOptions(nanobind::module_& module);
void BindClient(nanobind::module_& module);

}  // namespace penstock::python
