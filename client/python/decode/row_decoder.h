// Decodes images in the calling process: the decoder of Penstock's workers, for Python.
//
// **Thread safety**: one thread at a time; a call while another one runs is refused. Calls release
// the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "client/python/decode/spec.h"
#include "server/decode/decoder.h"

namespace penstock::python::decode {

using Bytes =
    nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using WritableBytes =
    nanobind::ndarray<uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

class RowDecoder {
 public:
  explicit RowDecoder(const penstock::decode::SampleLimits& limits) : decoder_(limits) {}

  // (height, width, channels) of the row, or the name of the fault. Reads the file's header only if
  // the spec is of a whole image.
  nanobind::object Shape(const Bytes& file, const RowSpec& spec);

  // Fills `row`, and returns the name of the fault, or None if there is none.
  nanobind::object Decode(const Bytes& file, const RowSpec& spec, uint64_t seed, uint64_t epoch,
                          uint64_t sample, const WritableBytes& row);

 private:
  class Turn;

  // `whole` resolved for this image. kNone, or why its header cannot be read.
  base::Fault Resolve(std::span<const std::byte> file, const RowSpec& spec,
                      penstock::decode::Spec* resolved);

  penstock::decode::Decoder decoder_;
  std::atomic<bool> busy_ = false;
};

// Adds Decoder to the module.
void BindDecoder(nanobind::module_& module);

}  // namespace penstock::python::decode
