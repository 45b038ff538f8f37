// penstock._penstock: the C++ client, for the package's Python code to build on.
#include <nanobind/nanobind.h>

#include "client/python/src/client.h"
#include "client/python/src/device_memory.h"
#include "client/python/src/effects.h"
#include "client/python/src/lease.h"
#include "client/python/src/made.h"
#include "client/python/src/maker.h"
#include "client/python/src/seeds.h"
#include "client/python/src/session.h"

NB_MODULE(_penstock, module) {
  // In most programs loaders live until the interpreter exits; that is not a leak.
  nanobind::set_leak_warnings(false);
  penstock::python::BindOptions(module);
  penstock::python::BindEffects(module);
  penstock::python::BindLease(module);
  penstock::python::BindDeviceMemory(module);
  penstock::python::BindMade(module);
  penstock::python::BindSession(module);
  penstock::python::BindClient(module);
  penstock::python::BindMaker(module);
  penstock::python::BindSeeds(module);
}
