// decode_rows GEOMETRY HEIGHT WIDTH RESIZE FLIP_PROBABILITY SEED EPOCH rgb|gray ignore|apply
// INTERPOLATION < paths, one a line
//
// Of whole images (GEOMETRY 3), the row is the centre, cropped by a recipe.
//
// Decodes each file as the sample whose number is its position in the list. Writes to standard
// output, in the machine's byte order: fault, x, y, width, height, flip as uint32 (the draw for an
// image of the size that follows), the image's width and height as uint32 (0 if the header can't be
// read), and, if the fault is 0, the row.
//
// Each file is also decoded as a whole, to be kept, and the row is made of the kept image. If any
// of that differs, the fault is 255.
//
// It decodes in the workers' sandbox, so every test that uses it also shows that no file makes a
// decoder issue a forbidden system call.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/units.h"
#include "server/decode/decoder.h"
#include "server/workers/program/confine.h"

namespace {

using penstock::base::Fault;
namespace decode = penstock::decode;

decode::Spec ParseSpec(char** argv) {
  decode::Spec spec;
  spec.geometry = static_cast<decode::Geometry>(std::atoi(argv[1]));
  spec.height = static_cast<uint32_t>(std::atoi(argv[2]));
  spec.width = static_cast<uint32_t>(std::atoi(argv[3]));
  spec.resize = static_cast<uint32_t>(std::atoi(argv[4]));
  spec.flip_probability = std::atof(argv[5]);
  if (std::strcmp(argv[8], "gray") == 0) spec.color = decode::Color::kGray;
  if (std::strcmp(argv[9], "apply") == 0) spec.exif = decode::Exif::kApply;
  spec.interpolation = static_cast<penstock::base::Interpolation>(std::atoi(argv[10]));
  if (spec.geometry == decode::Geometry::kWhole) {
    penstock::augment::Step& crop = spec.recipe.steps[spec.recipe.count++];
    crop.op = penstock::augment::Op::kCenterCrop;
    crop.args[penstock::augment::CropArgs::kHeight] = spec.height;
    crop.args[penstock::augment::CropArgs::kWidth] = spec.width;
  }
  return spec;
}

std::vector<char> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) std::exit(1);
}

constexpr uint32_t kKeptDiffers = 255;
constexpr size_t kRoom = size_t{64} << 20;

// Whether an image that is kept gives the same row, at once and from the kept file, or the same
// fault. **Requires**: the file was decoded to `row` if there is no fault.
bool IsTheSameKept(decode::Decoder& decoder, const decode::Spec& spec, const decode::DrawKey& key,
                   std::span<const std::byte> file, Fault fault,
                   const std::vector<std::byte>& row) {
  static std::vector<std::byte> memory(kRoom);
  decode::ImageRoom room = {.room = memory};
  std::vector<std::byte> at_once(row.size()), later(row.size());
  decoder.UseImageRoom(&room);
  const Fault while_kept = decoder.DecodeRow(file, spec, key, at_once);
  decoder.UseImageRoom(nullptr);
  if (while_kept != fault) return false;
  if (fault != Fault::kNone) return true;
  if (at_once != row) return false;
  if (room.bytes == 0) return true;  // too large
  return decoder.DecodeRow(std::span(memory).first(room.bytes), spec, key, later) == Fault::kNone &&
         later == row;
}

void WriteOne(decode::Decoder& decoder, const decode::Spec& spec, const decode::DrawKey& key,
              const std::vector<char>& file) {
  const auto bytes = std::as_bytes(std::span(file));
  std::vector<std::byte> row(RowBytes(spec));
  const Fault fault = decoder.DecodeRow(bytes, spec, key, row);
  const auto size = decoder.ReadSize(bytes, spec);
  const uint32_t width = size ? size->width : 0, height = size ? size->height : 0;
  const decode::Draw draw = size ? DrawFor(spec, key, width, height) : decode::Draw{};
  const bool same = IsTheSameKept(decoder, spec, key, bytes, fault, row);
  const uint32_t head[] = {same ? static_cast<uint32_t>(fault) : kKeptDiffers,
                           draw.crop.x,
                           draw.crop.y,
                           draw.crop.width,
                           draw.crop.height,
                           draw.flip,
                           width,
                           height};
  Write(head, sizeof(head));
  if (fault == Fault::kNone) Write(row.data(), row.size());
}

// Allocates standard output's buffer here, because otherwise the C library would ask for the file's
// attributes, which the sandbox forbids.
bool ShutIn() {
  static char buffer[1 << 16];
  std::setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
  penstock::workers::Exceptions exceptions;
  exceptions.more = {penstock::sandbox::WithFirst(SYS_write, STDOUT_FILENO)};
  const auto confined = penstock::workers::Confine(8 * penstock::base::kGiB,
                                                   penstock::workers::SandboxMode::kOn, exceptions);
  if (!confined.ok())
    std::fprintf(stderr, "decode_rows: %s\n", std::string(confined.status().message()).c_str());
  return confined.ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 11) {
    std::fprintf(stderr,
                 "usage: decode_rows GEOMETRY HEIGHT WIDTH RESIZE FLIP SEED EPOCH rgb|gray "
                 "ignore|apply INTERPOLATION < paths\n");
    return 2;
  }
  const decode::Spec spec = ParseSpec(argv);
  if (const absl::Status status = Validate(spec); !status.ok()) {
    std::fprintf(stderr, "decode_rows: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  decode::DrawKey key{std::strtoull(argv[6], nullptr, 10), std::strtoull(argv[7], nullptr, 10), 0};
  decode::Decoder decoder{decode::SampleLimits{}};
  std::vector<std::vector<char>> files;
  for (std::string path; std::getline(std::cin, path);) files.push_back(ReadFile(path));
  if (!ShutIn()) return 2;
  for (const std::vector<char>& file : files) {
    WriteOne(decoder, spec, key, file);
    ++key.sample;
  }
  return 0;
}
