#include "client/examples/photograph_files.h"

// jpeglib.h uses FILE but does not include its header.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "client/examples/photograph.h"

namespace penstock::examples {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Every fourth picture has its chroma at full resolution, as from many cameras and image editors.
void WriteJpeg(const Photograph& picture, uint64_t draw, std::FILE* file) {
  jpeg_error_mgr errors;
  jpeg_compress_struct codec;
  codec.err = jpeg_std_error(&errors);  // exits with a message if libjpeg cannot write
  jpeg_create_compress(&codec);
  jpeg_stdio_dest(&codec, file);
  codec.image_width = picture.width;
  codec.image_height = picture.height;
  codec.input_components = 3;
  codec.in_color_space = JCS_RGB;
  jpeg_set_defaults(&codec);
  jpeg_set_quality(&codec, 85 + static_cast<int>(draw % 11), TRUE);
  const int subsampling = (draw >> 8) % 4 == 0 ? 1 : 2;
  codec.comp_info[0].h_samp_factor = subsampling;
  codec.comp_info[0].v_samp_factor = subsampling;
  jpeg_start_compress(&codec, TRUE);
  while (codec.next_scanline < codec.image_height) {
    JSAMPROW row =
        const_cast<JSAMPROW>(&picture.rgb[size_t{3} * picture.width * codec.next_scanline]);
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  jpeg_destroy_compress(&codec);
}

// Returns an error message, or "".
std::string WritePhotograph(const std::string& path, uint64_t seed) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return path + ": " + std::strerror(errno);
  WriteJpeg(DrawPhotograph(seed), Mix(~seed), file.get());
  if (std::fclose(file.release()) != 0) return path + ": " + std::strerror(errno);
  return "";
}

std::string Numbered(const char* format, uint32_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

}  // namespace

std::string WritePhotographs(const PhotographFiles& files) {
  const uint32_t classes = std::min(files.classes, files.images);
  for (uint32_t image = 0; image < files.images; ++image) {
    const std::string folder = files.directory + "/" + Numbered("class_%03u", image % classes);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return folder + ": " + error.message();
    const std::string trouble =
        WritePhotograph(folder + "/" + Numbered("%06u.jpg", image), Mix(files.seed) + image);
    if (!trouble.empty()) return trouble;
  }
  return "";
}

}  // namespace penstock::examples
