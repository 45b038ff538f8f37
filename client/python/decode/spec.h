// What Python may say about decoding and finishing one image. Plain values, checked where they are
// used.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "server/decode/core/spec.h"

namespace penstock::python::decode {

// How to decode an image. If `whole`, the row is the image as it is, without crop or resize, and
// its sides depend on the image; `spec` then says the rest.
struct RowSpec {
  penstock::decode::Spec spec;
  bool whole = false;
};

// Adds Spec to the module.
void BindSpec(nanobind::module_& module);

}  // namespace penstock::python::decode
