#include "client/python/decode/finish.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "client/finish/finish.h"
#include "client/python/decode/row_decoder.h"
#include "client/python/src/gil.h"

namespace nb = nanobind;

namespace penstock::python::decode {
namespace {

Type TypeNamed(const std::string& name) {
  if (name == "uint8") return Type::kUInt8;
  if (name == "float32") return Type::kFloat32;
  if (name == "float16") return Type::kFloat16;
  if (name == "bfloat16") return Type::kBFloat16;
  throw nb::value_error(("finish: unknown type '" + name + "'").c_str());
}

Layout LayoutNamed(const std::string& name) {
  if (name == "NHWC") return Layout::kNHWC;
  if (name == "NCHW") return Layout::kNCHW;
  throw nb::value_error(("finish: unknown layout '" + name + "'").c_str());
}

// `shape`: height, width, channels.
void Finish(const Bytes& row, const std::tuple<uint32_t, uint32_t, uint32_t>& shape,
            const std::string& type, const std::string& layout, const std::vector<float>& mean,
            const std::vector<float>& stddev, const WritableBytes& into) {
  const finish::Spec spec = {TypeNamed(type), LayoutNamed(layout), mean, stddev};
  const auto [height, width, channels] = shape;
  const Shape one = {1, height, width, channels};
  const std::span<const uint8_t> rows(row.data(), row.size());
  const auto finished = std::as_writable_bytes(std::span(into.data(), into.size()));
  const absl::Status done = [&] {
    const WithoutGil released;
    return finish::Apply(spec, one, rows, finished);
  }();
  if (!done.ok()) throw nb::value_error(std::string(done.message()).c_str());
}

}  // namespace

void BindFinish(nb::module_& module) {
  module.def("finish", &Finish, nb::arg("row"), nb::arg("shape"), nb::arg("type"),
             nb::arg("layout"), nb::arg("mean"), nb::arg("std"), nb::arg("into"),
             "Writes a row of `shape` (height, width, channels) as `type` in `layout`: "
             "((value / 255) - mean) / std. ValueError names a wrong number.");
}

}  // namespace penstock::python::decode
