// Arbitrary bytes as a JPEG file, of which an arbitrary window is decoded: our Huffman decoder and
// libjpeg's must return the same fault and the same pixels, also when ours begins where it left
// checkpoints before.
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "server/decode/core/checkpoint_room.h"
#include "tests/support/files/jpeg_window.h"

namespace {

using penstock::base::Fault;
namespace decode = penstock::decode;

constexpr size_t kPrefixBytes = 8;  // seeds.py writes them too
constexpr uint64_t kMaxPixels = 1 << 18;
constexpr uint64_t kMaxScans = 30;

decode::Box BoxOf(std::span<const uint8_t> prefix, uint32_t width, uint32_t height) {
  decode::Box box;
  box.x = prefix[0] * width / 256;
  box.y = prefix[1] * height / 256;
  box.width = 1 + prefix[2] * (width - box.x - 1) / 256;
  box.height = 1 + prefix[3] * (height - box.y - 1) / 256;
  return box;
}

Fault Read(decode::JpegReader& reader, std::span<const uint8_t> prefix,
           std::span<const std::byte> file, std::vector<uint8_t>& pixels) {
  if (Fault fault = reader.ReadHeader(file); fault != Fault::kNone) return fault;
  if (uint64_t{reader.width()} * reader.height() > kMaxPixels) return Fault::kTooManyPixels;
  return penstock::testing::ReadWindow(reader, BoxOf(prefix, reader.width(), reader.height()),
                                       pixels);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPrefixBytes) return 0;
  const std::span prefix(data, kPrefixBytes);
  const auto file = std::as_bytes(std::span(data, size).subspan(kPrefixBytes));
  static decode::JpegReader ours(kMaxScans, decode::Entropy::kOwn);
  static decode::JpegReader libjpegs(kMaxScans, decode::Entropy::kLibjpeg);
  std::vector<uint8_t> our_pixels;
  std::vector<uint8_t> libjpegs_pixels;

  const Fault fault = Read(ours, prefix, file, our_pixels);

  PENSTOCK_CHECK(fault == Read(libjpegs, prefix, file, libjpegs_pixels));
  if (fault == Fault::kNone) PENSTOCK_CHECK(our_pixels == libjpegs_pixels);

  std::vector<std::byte> bytes(size_t{4} * prefix[4]);
  decode::CheckpointRoom room = {.room = bytes};
  ours.UseCheckpoints(&room);
  for (int round = 0; round < 2; ++round) {
    our_pixels.clear();
    PENSTOCK_CHECK(fault == Read(ours, prefix, file, our_pixels));
    if (fault == Fault::kNone) PENSTOCK_CHECK(our_pixels == libjpegs_pixels);
  }
  ours.UseCheckpoints(nullptr);
  return 0;
}
