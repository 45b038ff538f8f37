// Binds what forked children do that make the batches of a Python dataset: hosts and their workers.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

void BindMaker(nanobind::module_& module);

}  // namespace penstock::python
