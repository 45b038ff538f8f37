// penstock._decode: Penstock's decoder in the calling process. It needs neither the client library
// nor a daemon.
#include <nanobind/nanobind.h>

#include "client/python/decode/finish.h"
#include "client/python/decode/row_decoder.h"
#include "client/python/decode/spec.h"

NB_MODULE(_decode, module) {
  nanobind::set_leak_warnings(false);  // a thread's decoder lives as long as the thread
  penstock::python::decode::BindSpec(module);
  penstock::python::decode::BindDecoder(module);
  penstock::python::decode::BindFinish(module);
}
