// How far the engines' pixels are from libjpeg-turbo's, over whole photographs, as a table by
// chroma sampling.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/gpu/decode/decoding.h"

namespace penstock::gpu_decode {
namespace {

using testing::Photograph;

constexpr size_t kPhotographs = 1000;
constexpr int kLargestShown = 8;

struct Differences {
  uint64_t images = 0;
  std::array<uint64_t, 256> histogram = {};

  uint64_t values() const {
    uint64_t all = 0;
    for (const uint64_t count : histogram) all += count;
    return all;
  }
  double mean() const {
    double sum = 0;
    for (int i = 0; i < 256; ++i) sum += static_cast<double>(histogram[i]) * i;
    return sum / static_cast<double>(std::max<uint64_t>(1, values()));
  }
  int largest() const {
    int i = 255;
    while (i > 0 && histogram[i] == 0) --i;
    return i;
  }
};

void Print(const char* name, const Differences& differences) {
  std::printf("| %s | %lu | %d | %.3f |", name, differences.images, differences.largest(),
              differences.mean());
  const auto all = static_cast<double>(differences.values());
  double beyond = 1;
  for (int i = 0; i <= kLargestShown; ++i) {
    const double share = static_cast<double>(differences.histogram[i]) / all;
    beyond -= share;
    std::printf(" %.4f |", share);
  }
  std::printf(" %.5f |\n", std::max(0.0, beyond));
}

class PixelsTest : public ::testing::TestWithParam<JpegChroma> {};

TEST_P(PixelsTest, AreNearLibjpegs) {
  if (const std::string why = NoEngines(); !why.empty()) GTEST_SKIP() << why;
  Decoding decoding(GetParam());
  std::map<std::string, Differences> by_sampling;
  for (const Photograph& photograph : testing::LoadPhotographs(kPhotographs)) {
    const uint32_t width = photograph.facts.width, height = photograph.facts.height;
    const RowInput input = {.jpeg = testing::WholeImage(photograph.file, width, height)};
    const RowOutcome outcome = decoding.Make({&input, 1}, width, height)[0];
    ASSERT_EQ(outcome.result, RowResult::kOk) << photograph.name << ": " << outcome.why;
    const auto image = testing::DecodeWithLibjpeg(photograph.file);
    ASSERT_TRUE(image.has_value());
    const std::string sampling = std::to_string(photograph.facts.horizontal[0]) + " x " +
                                 std::to_string(photograph.facts.vertical[0]);
    for (Differences* differences : {&by_sampling["all"], &by_sampling[sampling]}) {
      ++differences->images;
      for (size_t i = 0; i < image->pixels.size(); ++i) {
        ++differences->histogram[std::abs(image->pixels[i] - decoding.row(0)[i])];
      }
    }
  }
  std::printf(
      "%s\n| sampling | images | largest | mean | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | beyond "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      decoding.maker().version().c_str());
  for (const auto& [name, differences] : by_sampling) Print(name.c_str(), differences);
  // Images that tests make have sharp colours, from which repeated chroma is far off.
  const bool are_photographs = std::getenv("PENSTOCK_TEST_DATA") != nullptr;
  const double most_replicated = are_photographs ? 4 : 12;
  EXPECT_LT(by_sampling["all"].mean(),
            GetParam() == JpegChroma::kInterpolated ? 0.01 : most_replicated);
}

INSTANTIATE_TEST_SUITE_P(Chroma, PixelsTest,
                         ::testing::Values(JpegChroma::kReplicated, JpegChroma::kInterpolated));

}  // namespace
}  // namespace penstock::gpu_decode
