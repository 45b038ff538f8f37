// Shared by the tests that decode on a GPU: a maker with its stream and rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/gpu_decode/row_maker.h"
#include "tests/gpu/gpu.h"
#include "tests/support/gpu_decode/photographs.h"

namespace penstock::gpu_decode {

// Options of the tests: nvJPEG at PENSTOCK_TEST_NVJPEG, if that is set.
RowMakerOptions TestOptions(cuda::StreamHandle stream);

// Why rows cannot be decoded by the engines here; empty if they can.
std::string NoEngines();

class Decoding {
 public:
  explicit Decoding(JpegChroma chroma = JpegChroma::kReplicated);

  // Makes rows of equal size and reads them back.
  std::vector<RowOutcome> Make(std::span<const RowInput> inputs, uint32_t width, uint32_t height);

  const uint8_t* row(size_t index) const { return rows_.data() + index * row_bytes_; }
  std::vector<uint8_t> Row(size_t index) const { return {row(index), row(index) + row_bytes_}; }
  RowMaker& maker() { return maker_; }

 private:
  cuda::Stream stream_;
  RowMaker maker_;
  cuda::DeviceMemory on_device_;
  std::vector<uint8_t> rows_;
  size_t row_bytes_ = 0;
};

// A box of the image resized to a row of `side` × `side`.
JpegRow Thumbnail(const testing::Photograph& photograph, uint32_t side);

}  // namespace penstock::gpu_decode
