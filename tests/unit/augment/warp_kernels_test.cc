// All instruction sets give the same bytes.
#include <gtest/gtest.h>

#include <random>

#include "server/augment/warp/kernels.h"
#include "tests/unit/augment/warp_images.h"

namespace penstock::augment {
namespace {

struct ImageKind {
  uint32_t width, height, channels;
};

class WarpKernelsTest : public testing::TestWithParam<ImageKind> {
 protected:
  TestImage Input() const {
    return Noise(GetParam().width, GetParam().height, GetParam().channels);
  }

  // Calls test(kernels) for all variants but the portable one that this CPU supports.
  template <typename Test>
  static void ForOthers(Test test) {
    for (const WarpKernels* kernels : AllWarpKernels()) {
      if (kernels == &kPortableWarpKernels || !kernels->supported()) continue;
      SCOPED_TRACE(kernels->name);
      test(*kernels);
    }
  }
};

// For images of two rows and three columns or more.
class CopyLineTest : public WarpKernelsTest {};

Bytes Warped(WarpFunction function, const TestImage& in, const double* coefficients) {
  TestImage out(300, 7, in.channels);
  function({in, out, coefficients, {{11, 12, 13}}});
  return out.pixels;
}

TEST_P(WarpKernelsTest, Warps) {
  const TestImage in = Input();
  const int channels = KernelIndex(in.channels);
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> number(-1, 1);
  for (int round = 0; round < 20; ++round) {
    double a[8] = {number(engine) * 2,   number(engine),      number(engine) * in.width,
                   number(engine),       number(engine) * 2,  number(engine) * in.height,
                   number(engine) / 100, number(engine) / 100};
    ForOthers([&](const WarpKernels& kernels) {
      for (const int sampling : {0, 2, 3}) {
        const WarpKernels& portable = kPortableWarpKernels;
        EXPECT_EQ(Warped(kernels.affine[sampling][channels], in, a),
                  Warped(portable.affine[sampling][channels], in, a));
        EXPECT_EQ(Warped(kernels.perspective[sampling][channels], in, a),
                  Warped(portable.perspective[sampling][channels], in, a));
      }
    });
  }
}

TEST_P(WarpKernelsTest, ReversesARowAndWritesNothingBehindIt) {
  const TestImage in = Input();
  const int channels = KernelIndex(in.channels);
  Bytes wanted(in.pixels.size() + 32, 77);
  kPortableWarpKernels.reverse[channels](in.pixels.data(), wanted.data(), in.width * in.height);
  ForOthers([&](const WarpKernels& kernels) {
    Bytes found(wanted.size(), 77);
    kernels.reverse[channels](in.pixels.data(), found.data(), in.width * in.height);
    EXPECT_EQ(found, wanted);
  });
}

TEST_P(CopyLineTest, CopiesALineAndWritesNothingBehindIt) {
  const TestImage in = Input();
  const int channels = KernelIndex(in.channels);
  for (uint32_t count = 1; count <= 4 * in.width; ++count) {
    // From the lower right to the upper left.
    const FixedLine line = {(int64_t{in.width} << kFixedBits) - 1,
                            (int64_t{in.height - 1} << kFixedBits) - 1,
                            -((int64_t{in.width} << kFixedBits) / count),
                            -((int64_t{in.height - 1} << kFixedBits) / count)};
    Bytes wanted(size_t{count} * in.channels + 32, 77);
    kPortableWarpKernels.copy_line[channels](in, line, count, wanted.data());
    ForOthers([&](const WarpKernels& kernels) {
      Bytes found(wanted.size(), 77);
      kernels.copy_line[channels](in, line, count, found.data());
      EXPECT_EQ(found, wanted);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WarpKernelsTest,
                         testing::Values(ImageKind{1, 1, 1}, ImageKind{1, 1, 3},
                                         ImageKind{40, 1, 3}, ImageKind{1, 40, 1},
                                         ImageKind{3, 2, 1}, ImageKind{3, 2, 3},
                                         ImageKind{64, 17, 1}, ImageKind{64, 17, 3}));

INSTANTIATE_TEST_SUITE_P(Sizes, CopyLineTest,
                         testing::Values(ImageKind{3, 2, 1}, ImageKind{3, 2, 3},
                                         ImageKind{64, 17, 1}, ImageKind{64, 17, 3}));

}  // namespace
}  // namespace penstock::augment
