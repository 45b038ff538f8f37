// penstock-make-photographs DIR [--images N] [--classes N] [--seed N]: a small dataset of
// photograph-like JPEGs in folders of classes, for trying Penstock without data of one's own. The
// same arguments give the same files. It needs nothing of Penstock, only libjpeg.

// jpeglib.h uses FILE and does not include it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "client/examples/photograph.h"

namespace penstock::examples {
namespace {

constexpr const char* kProgram = "penstock-make-photographs";

struct Arguments {
  std::string directory;
  uint32_t images = 200;
  uint32_t classes = 8;
  uint64_t seed = 1;
};

[[noreturn]] void Exit(int code, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", kProgram, message.c_str());
  std::exit(code);
}

uint64_t ParseNumber(std::string_view name, std::string_view text, uint64_t low, uint64_t high) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    Exit(2, std::string(name) + " wants a whole number from " + std::to_string(low) + " to " +
                std::to_string(high) + ", got '" + std::string(text) + "'");
  }
  return number;
}

Arguments ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--images") {
      arguments.images = static_cast<uint32_t>(ParseNumber(name, value, 1, 1'000'000));
    } else if (name == "--classes") {
      arguments.classes = static_cast<uint32_t>(ParseNumber(name, value, 1, 1'000));
    } else if (name == "--seed") {
      arguments.seed = ParseNumber(name, value, 0, UINT64_MAX);
    } else if (name.substr(0, 1) != "-" && arguments.directory.empty()) {
      arguments.directory = name;
      continue;
    } else {
      Exit(2, "unexpected argument '" + std::string(name) +
                  "'; usage: DIR [--images N] [--classes N] [--seed N]");
    }
    ++i;
  }
  if (arguments.directory.empty()) Exit(2, "no directory given to write to");
  return arguments;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Every fourth picture keeps its colours at full resolution, as many cameras and most cut-outs do.
void WriteJpeg(const Photograph& picture, uint64_t draw, std::FILE* file) {
  jpeg_error_mgr errors;
  jpeg_compress_struct codec;
  codec.err =
      jpeg_std_error(&errors);  // what libjpeg cannot write ends the program with its message
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

void WritePhotograph(const std::string& path, uint64_t seed) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) Exit(1, path + ": " + std::strerror(errno));
  WriteJpeg(DrawPhotograph(seed), Mix(~seed), file.get());
  if (std::fclose(file.release()) != 0) Exit(1, path + ": " + std::strerror(errno));
}

std::string Numbered(const char* format, uint32_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

void MakeAll(const Arguments& arguments) {
  const uint32_t classes = std::min(arguments.classes, arguments.images);
  for (uint32_t image = 0; image < arguments.images; ++image) {
    const std::string folder = arguments.directory + "/" + Numbered("class_%03u", image % classes);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) Exit(1, folder + ": " + error.message());
    WritePhotograph(folder + "/" + Numbered("%06u.jpg", image), Mix(arguments.seed) + image);
  }
}

}  // namespace
}  // namespace penstock::examples

int main(int argc, char** argv) {
  penstock::examples::MakeAll(penstock::examples::ParseArguments(argc, argv));
  return 0;
}
