#include "tests/support/files/jpeg_maker.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "server/decode/jpeg/libjpeg.h"

namespace penstock::testing {
namespace {

std::vector<uint8_t> MakePixels(uint32_t width, uint32_t height, const JpegOptions& options,
                                uint32_t seed) {
  const int components = options.components;
  std::mt19937 random(seed);
  std::vector<uint8_t> pixels;
  pixels.reserve(size_t{width} * height * components);
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (int c = 0; c < components; ++c) {
        const uint32_t slope = (x * (c + 2) + y * (5 - c)) / 3;
        const uint32_t edge = ((x / 11) ^ (y / 7) ^ c) & 1 ? 90 : 0;
        pixels.push_back(static_cast<uint8_t>(slope + edge + random() % options.noise));
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
  info->optimize_coding = options.optimized ? TRUE : FALSE;
  info->restart_in_rows = options.restart_rows;
  if (options.ycck) jpeg_set_colorspace(info, JCS_YCCK);
  info->comp_info[0].h_samp_factor = options.horizontal;
  info->comp_info[0].v_samp_factor = options.vertical;
  info->write_Adobe_marker = options.adobe_marker ? info->write_Adobe_marker : FALSE;
  if (options.progressive) jpeg_simple_progression(info);
}

}  // namespace

std::vector<std::byte> MakeJpeg(uint32_t width, uint32_t height, const JpegOptions& options,
                                uint32_t seed) {
  std::vector<uint8_t> pixels = MakePixels(width, height, options, seed);
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

namespace {

// Converts inverted CMYK to RGB by its definition: black reduces the light of each colour.
void MixInks(Image& image) {
  std::vector<uint8_t> mixed;
  for (size_t at = 0; at < image.pixels.size(); at += 4) {
    for (int ink = 0; ink < 3; ++ink) {
      const double light = image.pixels[at + ink] * image.pixels[at + 3] / 255.0;
      mixed.push_back(static_cast<uint8_t>(std::lround(light)));
    }
  }
  image.pixels = std::move(mixed);
}

struct Counted {
  Image image;
  long warnings = 0;
};

Counted DecodeAndCount(std::span<const std::byte> file) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  Image image{info.output_width, info.output_height, {}};
  const size_t channels = info.out_color_components;
  image.pixels.resize(channels * image.width * image.height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = &image.pixels[channels * image.width * info.output_scanline];
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  const long warnings = errors.num_warnings;
  jpeg_destroy_decompress(&info);
  if (channels == 4) MixInks(image);
  return {std::move(image), warnings};
}

}  // namespace

Image DecodeWhole(std::span<const std::byte> file) { return DecodeAndCount(file).image; }

long WarningsOf(std::span<const std::byte> file) { return DecodeAndCount(file).warnings; }

}  // namespace penstock::testing
