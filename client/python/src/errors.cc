#include "client/python/src/errors.h"

#include <nanobind/nanobind.h>

#include "client/python/src/gil.h"

namespace penstock::python {

namespace nb = nanobind;

void Raise(const Status& status) {
  // Prefers the exception that a signal handler raised while the call waited.
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const nb::object error = StopIfUnwound([&] {
    return nb::module_::import_("penstock.errors")
        .attr("make")(CodeName(status.code()), status.message().c_str());
  });
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace penstock::python
