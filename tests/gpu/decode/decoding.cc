#include "tests/gpu/decode/decoding.h"

#include <cstdlib>
#include <cstring>

namespace penstock::gpu_decode {

RowMakerOptions TestOptions(cuda::StreamHandle stream) {
  const char* const path = std::getenv("PENSTOCK_TEST_NVJPEG");
  return {.nvjpeg_path = path != nullptr ? path : "", .stream = stream};
}

std::string NoEngines() {
  const absl::StatusOr<cuda::Stream> stream = cuda::Stream::Make();
  if (!stream.ok()) return std::string(stream.status().message());
  return std::string(RowMaker::Make(TestOptions(stream->get())).status().message());
}

namespace {

RowMakerOptions WithChroma(RowMakerOptions options, JpegChroma chroma) {
  options.chroma = chroma;
  return options;
}

}  // namespace

Decoding::Decoding(JpegChroma chroma)
    : stream_(gpu::Must(cuda::Stream::Make(cuda::StreamPriority::kLow))),
      maker_(gpu::Must(RowMaker::Make(WithChroma(TestOptions(stream_.get()), chroma)))) {}

std::vector<RowOutcome> Decoding::Make(std::span<const RowInput> inputs, uint32_t width,
                                       uint32_t height) {
  row_bytes_ = size_t{3} * width * height;
  const size_t bytes = row_bytes_ * inputs.size();
  if (on_device_.bytes() < bytes) on_device_ = gpu::Must(cuda::DeviceMemory::Make(bytes));
  EXPECT_OK(gpu::Fill(on_device_.data(), std::vector<std::byte>(bytes, std::byte{0xA5})));
  std::vector<RowOutcome> outcomes = gpu::Must(
      maker_.MakeRows({inputs, height, width, reinterpret_cast<uint8_t*>(on_device_.data())}));
  const std::vector<std::byte> made = gpu::Must(gpu::ReadBack(on_device_.data(), bytes));
  rows_.resize(bytes);
  memcpy(rows_.data(), made.data(), bytes);
  return outcomes;
}

JpegRow Thumbnail(const testing::Photograph& photograph, uint32_t side) {
  const uint32_t width = photograph.facts.width, height = photograph.facts.height;
  return {.file = photograph.file,
          .width = width,
          .height = height,
          .x = {width, side, 0, side},
          .y = {height, side, 0, side}};
}

}  // namespace penstock::gpu_decode
