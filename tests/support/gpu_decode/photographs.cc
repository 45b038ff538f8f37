#include "tests/support/gpu_decode/photographs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/decode/jpeg/jpeg_errors.h"
#include "server/decode/jpeg/libjpeg.h"

namespace penstock::testing {
namespace {

// A decompressor that is destroyed whatever happens.
struct Decompressor {
  Decompressor() {
    info.err = errors.manager();
    jpeg_create_decompress(&info);
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }

  void ReadHeader(std::span<const std::byte> file) {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&info, TRUE);
  }

  decode::JpegErrors errors;
  jpeg_decompress_struct info{};
};

std::vector<std::byte> ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto* const data = reinterpret_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

// libjpeg does not tell baseline from extended frames, so this walks the segments. **Requires**:
// libjpeg has read the headers.
uint8_t FrameMarker(std::span<const std::byte> file) {
  for (size_t at = 2; at + 4 < file.size();) {
    const auto marker = std::to_integer<uint8_t>(file[at + 1]);
    const bool frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) return marker;
    at += marker == 0xFF ? 1  // a fill byte
                         : 2 + (std::to_integer<size_t>(file[at + 2]) << 8 |
                                std::to_integer<size_t>(file[at + 3]));
  }
  return 0;
}

jpeg::JpegHeaderFacts FactsOf(const jpeg_decompress_struct& info, uint8_t frame_marker) {
  jpeg::JpegHeaderFacts facts;
  facts.frame_marker = frame_marker;
  facts.bits = static_cast<uint8_t>(info.data_precision);
  facts.width = info.image_width;
  facts.height = info.image_height;
  facts.components = static_cast<uint8_t>(info.num_components);
  facts.components_of_first_scan = static_cast<uint8_t>(info.comps_in_scan);
  facts.ycbcr = info.jpeg_color_space == JCS_YCbCr;
  for (int i = 0; i < std::min(info.num_components, 4); ++i) {
    facts.horizontal[i] = static_cast<uint8_t>(info.comp_info[i].h_samp_factor);
    facts.vertical[i] = static_cast<uint8_t>(info.comp_info[i].v_samp_factor);
  }
  return facts;
}

Photograph Made(std::string name, std::vector<std::byte> file) {
  const jpeg::JpegHeaderFacts facts = *ReadFacts(file);
  return {std::move(name), std::move(file), facts};
}

std::vector<Photograph> Generated(size_t count) {
  std::vector<Photograph> made;
  for (uint32_t i = 0; i < count; ++i) {
    JpegOptions options;
    options.horizontal = 1 + (i & 1);
    options.vertical = 1 + (i >> 1 & 1);
    made.push_back(
        Made("generated " + std::to_string(i), MakeJpeg(400 + i % 101, 300 + i % 77, options, i)));
  }
  return made;
}

}  // namespace

std::optional<jpeg::JpegHeaderFacts> ReadFacts(std::span<const std::byte> file) {
  Decompressor decompressor;
  if (!decompressor.errors.Guard([&] { decompressor.ReadHeader(file); })) return std::nullopt;
  return FactsOf(decompressor.info, FrameMarker(file));
}

std::optional<Image> DecodeWithLibjpeg(std::span<const std::byte> file) {
  Decompressor decompressor;
  jpeg_decompress_struct& info = decompressor.info;
  Image image;
  if (!decompressor.errors.Guard([&] { decompressor.ReadHeader(file); })) return std::nullopt;
  image.width = info.image_width;
  image.height = info.image_height;
  image.pixels.resize(size_t{3} * image.width * image.height);
  const bool decoded = decompressor.errors.Guard([&] {
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = &image.pixels[size_t{3} * image.width * info.output_scanline];
      jpeg_read_scanlines(&info, &row, 1);
    }
  });
  return decoded ? std::optional(std::move(image)) : std::nullopt;
}

std::vector<Photograph> LoadPhotographs(size_t most) {
  const char* const folder = std::getenv("PENSTOCK_TEST_DATA");
  if (folder == nullptr) return Generated(std::min<size_t>(most, 64));
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Photograph> photographs;
  for (const std::filesystem::path& path : paths) {
    if (photographs.size() == most) break;
    std::vector<std::byte> file = ReadFile(path);
    const auto facts = ReadFacts(file);
    if (!facts || JudgeForEngines(*facts) != jpeg::EngineVerdict::kTaken) continue;
    photographs.push_back({path.filename(), std::move(file), *facts});
  }
  return photographs;
}

gpu_decode::JpegRow WholeImage(std::span<const std::byte> file, uint32_t width, uint32_t height) {
  return {.file = file,
          .width = width,
          .height = height,
          .x = {width, width, 0, width},
          .y = {height, height, 0, height},
          .interpolation = base::Interpolation::kNearest};
}

std::vector<Photograph> MakeUnusualFiles() {
  std::vector<Photograph> made;
  for (const int h : {1, 2, 4}) {
    for (const int v : {1, 2, 4}) {
      if (h == 4 && v == 4) continue;
      made.push_back(Made("sampling " + std::to_string(h) + " x " + std::to_string(v),
                          MakeJpeg(501, 377, {.horizontal = h, .vertical = v})));
    }
  }
  made.push_back(Made("gray", MakeJpeg(500, 375, {.components = 1})));
  made.push_back(Made("CMYK", MakeJpeg(500, 375, {.components = 4})));
  made.push_back(Made("progressive", MakeJpeg(500, 375, {.progressive = true})));
  made.push_back(Made("own Huffman codes", MakeJpeg(500, 375, {.optimized = true})));
  made.push_back(Made("restart markers", MakeJpeg(500, 375, {.restart_rows = 1})));
  for (const auto& [width, height] : {std::pair{1u, 1u},
                                      {8u, 8u},
                                      {15u, 15u},
                                      {16u, 16u},
                                      {17u, 33u},
                                      {31u, 64u},
                                      {63u, 63u},
                                      {64u, 64u},
                                      {500u, 1u},
                                      {1u, 500u},
                                      {8192u, 64u},
                                      {16384u, 64u},
                                      {16392u, 64u},
                                      {32768u, 64u},
                                      {64u, 16384u},
                                      {64u, 16392u},
                                      {65500u, 16u},
                                      {4096u, 4096u}}) {
    made.push_back(Made(std::to_string(width) + " x " + std::to_string(height),
                        MakeJpeg(width, height, {.horizontal = 2, .vertical = 2})));
  }
  return made;
}

}  // namespace penstock::testing
