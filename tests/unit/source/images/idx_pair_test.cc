// Which pair of files a path refers to.
#include "server/source/arrays/idx_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(IdxLabelsNamesTest, ANameThatSaysNothingOfImagesHasNone) {
  EXPECT_THAT(IdxLabelsNames("train-idx3-ubyte"), IsEmpty());
  EXPECT_THAT(IdxLabelsNames("images.npy"), IsEmpty());
}

TEST(IdxLabelsNamesTest, TheLastImagesBecomesLabelsCompressedFirstWhereTheImagesAre) {
  EXPECT_THAT(IdxLabelsNames("train-images-idx3-ubyte"),
              ElementsAre("train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz"));
  EXPECT_THAT(IdxLabelsNames("t10k-images.idx3-ubyte.gz"),
              ElementsAre("t10k-labels.idx1-ubyte.gz", "t10k-labels.idx1-ubyte"));
  EXPECT_THAT(
      IdxLabelsNames("my-images-test-images-idx4-ubyte"),
      ElementsAre("my-images-test-labels-idx1-ubyte", "my-images-test-labels-idx1-ubyte.gz"));
}

class IdxPairTest : public ::testing::Test {
 protected:
  std::string Refusal(const std::string& path) const {
    const auto pair = FindIdxPair(temp_.At(path));
    EXPECT_FALSE(pair.ok());
    return std::string(pair.status().message());
  }
  penstock::testing::TempFolder temp_;
};

TEST_F(IdxPairTest, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(FindIdxPair(temp_.At("none")).status()));
}

TEST_F(IdxPairTest, ImagesWithoutLabelsSayWhatWasLookedFor) {
  temp_.Write("train-images-idx3-ubyte", "");

  EXPECT_THAT(Refusal("train-images-idx3-ubyte"),
              HasSubstr("looked for 'train-labels-idx1-ubyte', 'train-labels-idx1-ubyte.gz'"));
}

TEST_F(IdxPairTest, AnotherFileIsRefusedInWords) {
  temp_.Write("shard-000.tar", "");

  EXPECT_THAT(Refusal("shard-000.tar"), HasSubstr("a file of unknown kind"));
}

TEST_F(IdxPairTest, AFolderWithSeveralPairsListsThem) {
  temp_.Write("raw/train-images-idx3-ubyte", "");
  temp_.Write("raw/t10k-images-idx3-ubyte", "");

  EXPECT_THAT(Refusal("raw"), HasSubstr("'t10k-images-idx3-ubyte', 'train-images-idx3-ubyte'"));
}

TEST_F(IdxPairTest, AFolderOfPhotographsIsAnotherKinds) {
  temp_.Write("photos/cats/a.jpg", "");
  temp_.Write("photos/images-idx3-of-cats.jpg", "");

  const auto pair = FindIdxPair(temp_.At("photos"));

  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_FALSE(pair->has_value());
}

TEST_F(IdxPairTest, APairIsFoundByItsImagesAndByItsFolder) {
  temp_.Write("raw/t10k-images-idx3-ubyte.gz", "");
  temp_.Write("raw/t10k-labels-idx1-ubyte", "");

  for (const std::string path : {"raw", "raw/t10k-images-idx3-ubyte.gz"}) {
    const auto pair = FindIdxPair(temp_.At(path));
    ASSERT_TRUE(pair.ok()) << pair.status();
    ASSERT_TRUE(pair->has_value());
    EXPECT_EQ((*pair)->images, temp_.At("raw/t10k-images-idx3-ubyte.gz"));
    EXPECT_EQ((*pair)->labels, temp_.At("raw/t10k-labels-idx1-ubyte"));
  }
}

}  // namespace
}  // namespace penstock::source
