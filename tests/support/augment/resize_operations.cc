#include "server/decode/resize.h"
#include "tests/support/augment/operations.h"

namespace penstock::augment {
namespace {

uint32_t ToSide(double value) { return static_cast<uint32_t>(value); }

// By number, fastest first; one that this CPU lacks is replaced by the best.
const decode::Kernels& KernelsOf(double number) {
  const auto all = decode::AllKernels();
  const decode::Kernels& chosen = *all[static_cast<size_t>(number) % all.size()];
  return chosen.supported() ? chosen : decode::BestKernels();
}

// KERNELS INTERPOLATION, the box LEFT TOP WIDTH HEIGHT, the size WIDTH HEIGHT to which it is
// resized, the part LEFT TOP WIDTH HEIGHT of the result, FLIP
void Resize(const ConstImageView& in, const ImageView& out, Parameters p, Scratch&) {
  static decode::ImageResizer resizers[] = {decode::ImageResizer(KernelsOf(0)),
                                            decode::ImageResizer(KernelsOf(1)),
                                            decode::ImageResizer(KernelsOf(2))};
  const decode::Box box = {ToSide(p[2]), ToSide(p[3]), ToSide(p[4]), ToSide(p[5])};
  const decode::Placement placement = {box,
                                       {box.width, ToSide(p[6]), ToSide(p[8]), ToSide(p[10])},
                                       {box.height, ToSide(p[7]), ToSide(p[9]), ToSide(p[11])},
                                       p[12] != 0,
                                       static_cast<base::Interpolation>(static_cast<int>(p[1]))};
  resizers[static_cast<size_t>(p[0]) % 3].Resize(in, placement, out);
}

constexpr Operation kResizeOperations[] = {
    {"resize", 13,
     [](const ConstImageView& in, Parameters p) {
       return Size{ToSide(p[10]), ToSide(p[11]), in.channels};
     },
     Resize},
};

}  // namespace

std::span<const Operation> ResizeOperations() { return kResizeOperations; }

}  // namespace penstock::augment
