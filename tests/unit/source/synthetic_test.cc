// Synthetic datasets, which are not stored anywhere, and the text that names them.
#include "server/source/core/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/synthetic.h"
#include "tests/support/fakes/row_copy.h"

namespace penstock::source {
namespace {

using ::testing::HasSubstr;

std::string SyntheticRefusal(const std::string& text) {
  const auto spec = ParseSynthetic(text);
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(spec.status().message());
}

TEST(SyntheticSourceTest, WhatIsNotUnderstoodIsQuotedWithTheGrammar) {
  for (const std::string part : {"224x224", "224x224x3x1", "axbxc", "-1x2x3", "samples=many",
                                 "rows=5", "samples", "1x1x1,2x2x2", "samples=5,,classes=2"}) {
    EXPECT_THAT(SyntheticRefusal("synthetic:" + part), HasSubstr("synthetic:HEIGHTxWIDTHxCHANNELS"))
        << part;
  }
  EXPECT_THAT(SyntheticRefusal("synthetic:224x224x3,sample=9"),
              HasSubstr("'sample=9' is not understood"));
}

TEST(SyntheticSourceTest, NumbersThatCannotBeAreNamed) {
  EXPECT_THAT(SyntheticRefusal("synthetic:0x8x3"),
              HasSubstr("synthetic height: wanted 1 to 65536, got 0"));
  EXPECT_THAT(SyntheticRefusal("synthetic:8x8x17"), HasSubstr("channels"));
  EXPECT_THAT(SyntheticRefusal("synthetic:samples=0"), HasSubstr("samples"));
  EXPECT_THAT(SyntheticRefusal("synthetic:samples=2000000000000"), HasSubstr("samples"));
  EXPECT_THAT(SyntheticRefusal("synthetic:classes=65537"), HasSubstr("classes"));
}

TEST(SyntheticSourceTest, WhatIsLeftOutIsImageNets) {
  EXPECT_EQ(ParseSynthetic("synthetic:").value(), SyntheticSpec());
  EXPECT_EQ(ParseSynthetic("synthetic:seed=4").value(), SyntheticSpec{.seed = 4});
  EXPECT_EQ(ParseSynthetic("synthetic:28x27x1").value(), (SyntheticSpec{.shape = {28, 27, 1}}));
}

TEST(SyntheticSourceTest, ItsTextIsParsedAsItself) {
  const SyntheticSpec spec = {.samples = 77, .shape = {5, 6, 7}, .classes = 9, .seed = 3};

  EXPECT_EQ(ParseSynthetic(ToString(spec)).value(), spec);
}

TEST(SyntheticSourceTest, ADatasetHasLabelsAndNoRows) {
  const auto dataset = MakeSynthetic({.samples = 1'000, .shape = {8, 9, 3}, .classes = 10});

  EXPECT_EQ(dataset->storage(), Storage::kNothing);
  EXPECT_EQ(testing::ShapeOf(*dataset), (RowShape{8, 9, 3}));
  EXPECT_EQ(dataset->classes().size(), 10u);
  for (uint64_t sample = 0; sample < 1'000; ++sample)
    ASSERT_EQ(dataset->label(sample), base::SyntheticLabel(0, sample, 10));
}

TEST(SyntheticSourceTest, AnotherSeedIsAnotherDataset) {
  EXPECT_NE(MakeSynthetic({.seed = 1})->digest(), MakeSynthetic({.seed = 2})->digest());
}

}  // namespace
}  // namespace penstock::source
