#include "tests/support/files/slow_jpeg.h"

#include <cstdlib>

#include "server/decode/jpeg/libjpeg.h"

namespace penstock::testing {
namespace {

constexpr int kComponents = 3;
constexpr int kCoefficients = 64;
constexpr int kMostBits = 10;  // the most that successive approximation may defer to later scans

// One scan per coefficient, component and bit.
std::vector<jpeg_scan_info> EveryScan() {
  std::vector<jpeg_scan_info> scans = {{kComponents, {0, 1, 2}, 0, 0, 0, 0}};
  for (int component = 0; component < kComponents; ++component) {
    for (int k = 1; k < kCoefficients; ++k) {
      scans.push_back({1, {component}, k, k, 0, kMostBits});
      for (int bit = kMostBits; bit > 0; --bit)
        scans.push_back({1, {component}, k, k, bit, bit - 1});
    }
  }
  return scans;
}

}  // namespace

std::vector<std::byte> MakeSlowJpeg(uint32_t side) {
  const std::vector<jpeg_scan_info> scans = EveryScan();
  std::vector<uint8_t> pixels(size_t{kComponents} * side, 128);
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &data, &bytes);
  info.image_width = info.image_height = side;
  info.input_components = kComponents;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  info.scan_info = scans.data();
  info.num_scans = static_cast<int>(scans.size());
  jpeg_start_compress(&info, TRUE);
  JSAMPROW row = pixels.data();
  for (uint32_t y = 0; y < side; ++y) jpeg_write_scanlines(&info, &row, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first, first + bytes);
  std::free(data);
  return file;
}

}  // namespace penstock::testing
