#include "tests/support/jpeg_maker.h"

#include <cstdlib>
#include <random>

#include "server/decode/libjpeg.h"

namespace penstock::testing {
namespace {

std::vector<uint8_t> MakePixels(uint32_t width, uint32_t height, int components, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> pixels;
  pixels.reserve(size_t{width} * height * components);
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (int c = 0; c < components; ++c) {
        const uint32_t slope = (x * (c + 2) + y * (5 - c)) / 3;
        const uint32_t edge = ((x / 11) ^ (y / 7) ^ c) & 1 ? 90 : 0;
        pixels.push_back(static_cast<uint8_t>(slope + edge + random() % 24));
      }
    }
  }
  return pixels;
}

void Configure(jpeg_compress_struct* info, const JpegOptions& options) {
  constexpr J_COLOR_SPACE kSpaces[] = {JCS_UNKNOWN, JCS_GRAYSCALE, JCS_UNKNOWN, JCS_RGB, JCS_CMYK};
  info->input_components = options.components;
  info->in_color_space = kSpaces[options.components];
  jpeg_set_defaults(info);
  jpeg_set_quality(info, options.quality, TRUE);
  info->comp_info[0].h_samp_factor = options.horizontal;
  info->comp_info[0].v_samp_factor = options.vertical;
  info->restart_in_rows = options.restart_rows;
  if (options.progressive) jpeg_simple_progression(info);
}

}  // namespace

std::vector<std::byte> MakeJpeg(uint32_t width, uint32_t height, const JpegOptions& options,
                                uint32_t seed) {
  std::vector<uint8_t> pixels = MakePixels(width, height, options.components, seed);
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &data, &bytes);
  info.image_width = width;
  info.image_height = height;
  Configure(&info, options);
  jpeg_start_compress(&info, TRUE);
  for (uint32_t y = 0; y < height; ++y) {
    JSAMPROW row = &pixels[size_t{y} * width * options.components];
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first, first + bytes);
  std::free(data);
  return file;
}

Image DecodeWhole(std::span<const std::byte> file) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  Image image{info.output_width, info.output_height, {}};
  image.pixels.resize(size_t{3} * image.width * image.height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = &image.pixels[size_t{3} * image.width * info.output_scanline];
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return image;
}

}  // namespace penstock::testing
