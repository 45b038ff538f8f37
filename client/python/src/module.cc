// penstock._penstock: the C++ client as it is, for the package's own Python to build on.
#include <nanobind/nanobind.h>

#include "client/python/src/client.h"
#include "client/python/src/device_memory.h"
#include "client/python/src/lease.h"
#include "client/python/src/session.h"

NB_MODULE(_penstock, module) {
  // Loaders live as long as the interpreter in most programs, and then end with the process.
  nanobind::set_leak_warnings(false);
  penstock::python::BindOptions(module);
  penstock::python::BindLease(module);
  penstock::python::BindDeviceMemory(module);
  penstock::python::BindSession(module);
  penstock::python::BindClient(module);
}
