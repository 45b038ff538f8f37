#include "tests/support/files/png_maker.h"

#include <png.h>

#include <algorithm>
#include <random>
#include <span>
#include <string_view>

namespace penstock::testing {
namespace {

void Append(png_structp png, png_bytep bytes, size_t count) {
  auto* file = static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  const auto* from = reinterpret_cast<const std::byte*>(bytes);
  file->insert(file->end(), from, from + count);
}

void SetPalette(png_structp png, png_infop info, int depth) {
  std::vector<png_color> palette;
  for (int i = 0; i < 1 << depth; ++i) {
    palette.push_back({static_cast<png_byte>(i), static_cast<png_byte>(255 - i),
                       static_cast<png_byte>(i ^ 0x55)});
  }
  png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
}

std::vector<uint8_t> RowOf(const uint16_t* samples, size_t count, int depth) {
  std::vector<uint8_t> row;
  for (size_t i = 0; i < count; ++i) {
    if (depth == 16) row.push_back(static_cast<uint8_t>(samples[i] >> 8));
    row.push_back(static_cast<uint8_t>(samples[i]));
  }
  return row;
}

void Push(std::vector<std::byte>& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(number >> shift));
}

// PNG specification, annex D.
uint32_t SumOf(const std::byte* begin, const std::byte* end) {
  uint32_t sum = 0xFFFF'FFFF;
  for (; begin != end; ++begin) {
    sum ^= std::to_integer<uint32_t>(*begin);
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? 0xEDB8'8320 ^ (sum >> 1) : sum >> 1;
  }
  return ~sum;
}

}  // namespace

std::vector<uint16_t> MakePngSamples(const decode::PngHeader& header, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> samples(size_t{header.width} * header.height * header.channels());
  for (uint16_t& sample : samples) {
    sample = static_cast<uint16_t>(random() & ((1u << header.depth) - 1));
    if (header.depth == 16 && random() % 2 == 0) sample &= 0xFF;
  }
  return samples;
}

std::vector<std::byte> MakePng(const decode::PngHeader& header,
                               const std::vector<uint16_t>& samples) {
  std::vector<std::byte> file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_write_fn(png, &file, &Append, nullptr);
  png_set_IHDR(png, info, header.width, header.height, header.depth, header.color,
               header.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (header.color == decode::PngHeader::kPalette) SetPalette(png, info, header.depth);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
  png_write_info(png, info);
  png_set_packing(png);
  const size_t row_samples = size_t{header.width} * header.channels();
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (uint32_t y = 0; y < header.height; ++y) {
      png_write_row(png, RowOf(&samples[y * row_samples], row_samples, header.depth).data());
    }
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::vector<std::byte> WithPngChunk(const std::vector<std::byte>& file, const char* name,
                                    const std::vector<std::byte>& data) {
  std::vector<std::byte> chunk;
  Push(chunk, static_cast<uint32_t>(data.size()));
  for (const char* c = name; *c != 0; ++c) chunk.push_back(static_cast<std::byte>(*c));
  chunk.insert(chunk.end(), data.begin(), data.end());
  Push(chunk, SumOf(chunk.data() + 4, chunk.data() + chunk.size()));
  const auto idat = std::as_bytes(std::span(std::string_view("IDAT")));
  std::vector<std::byte> out = file;
  const auto at = std::search(out.begin(), out.end(), idat.begin(), idat.end());
  out.insert(at - 4, chunk.begin(), chunk.end());
  return out;
}

}  // namespace penstock::testing
