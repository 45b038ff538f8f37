// Arbitrary bytes as an image, with an arbitrary spec: the decoder returns a fault or a row. A
// decoder that has decoded other files must return the same as a new one.
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "server/decode/decoder.h"

namespace {

using penstock::base::Fault;
namespace decode = penstock::decode;

constexpr size_t kPrefixBytes = 8;  // seeds.py writes them too

// Small enough for a run to take milliseconds.
constexpr decode::SampleLimits kLimits = {
    .max_bytes = 1 << 20, .max_pixels = 1 << 18, .max_scans = 30};

decode::Spec SpecOf(std::span<const uint8_t> prefix) {
  decode::Spec spec;
  const bool center = prefix[0] % 2 == 1;
  spec.geometry =
      center ? decode::Geometry::kResizeCenterCrop : decode::Geometry::kRandomResizedCrop;
  spec.height = 1 + prefix[1] % 64;
  spec.width = 1 + prefix[2] % 64;
  spec.resize = 64 + prefix[3] % 64;
  spec.scale_min = (1 + prefix[4]) / 512.0;
  spec.flip_probability = prefix[5] / 255.0;
  spec.color = prefix[6] % 2 == 1 ? decode::Color::kGray : decode::Color::kRgb;
  spec.exif = prefix[6] / 2 % 2 == 1 ? decode::Exif::kApply : decode::Exif::kIgnore;
  spec.interpolation = static_cast<penstock::base::Interpolation>(prefix[6] / 4 % 4);
  return spec;
}

struct Result {
  Fault fault;
  std::vector<std::byte> row;
};

Result Decode(decode::Decoder& decoder, std::span<const std::byte> file, const decode::Spec& spec,
              uint64_t sample) {
  std::vector<std::byte> row(RowBytes(spec));
  const Fault fault = decoder.DecodeRow(file, spec, {1, 0, sample}, row);
  if (fault != Fault::kNone) row.clear();
  return {fault, std::move(row)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPrefixBytes) return 0;
  const decode::Spec spec = SpecOf({data, kPrefixBytes});
  PENSTOCK_CHECK(Validate(spec).ok());
  const auto file = std::as_bytes(std::span(data, size).subspan(kPrefixBytes));
  static decode::Decoder used(kLimits);
  decode::Decoder fresh(kLimits);

  const Result first = Decode(fresh, file, spec, data[7]);
  const Result second = Decode(used, file, spec, data[7]);

  PENSTOCK_CHECK(first.fault == second.fault);
  PENSTOCK_CHECK(first.row == second.row);
  return 0;
}
