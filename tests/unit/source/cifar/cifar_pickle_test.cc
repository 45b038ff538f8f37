// Batches of CIFAR's Python version.
#include "server/source/cifar/cifar_pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/source/cifar/pickles.h"

namespace penstock::source {
namespace {

using penstock::testing::ByteArray;
using penstock::testing::Dict;
using penstock::testing::Numbers;
using penstock::testing::ShortText;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kTwoImages = std::string(3072, 'a') + std::string(3072, 'b');

std::string RefusalOf(const std::string& pickle) {
  const auto batch = ParseCifarBatch(pickle, "/d/data_batch_1");
  return batch.ok() ? "not refused" : std::string(batch.status().message());
}

TEST(CifarPickleTest, ABatchSaysWhereItsImagesAreAndTheirLabels) {
  const std::string pickle =
      Dict({"batch_label", ShortText("training batch 1 of 5"), "labels", Numbers({6, 9}), "data",
            ByteArray(2, 3072, kTwoImages), "filenames",
            "](" + ShortText("x.png") + ShortText("y.png") + "e"});

  const auto batch = ParseCifarBatch(pickle, "/d");

  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->images, 2u);
  EXPECT_EQ(pickle.substr(batch->data_offset, 6144), kTwoImages);
  EXPECT_THAT(batch->labels, ElementsAre(6, 9));
  EXPECT_THAT(batch->fine_labels, IsEmpty());
}

TEST(CifarPickleTest, CifarHundredsBatchesHaveFineAndCoarseLabels) {
  const auto batch =
      ParseCifarBatch(Dict({"fine_labels", Numbers({99, 0}), "coarse_labels", Numbers({19, 3}),
                            "data", ByteArray(2, 3072, kTwoImages)}),
                      "/d");

  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->fine_labels, ElementsAre(99, 0));
  EXPECT_THAT(batch->coarse_labels, ElementsAre(19, 3));
}

TEST(CifarPickleTest, WhateverElseAPickleWouldCallIsRefused) {
  const std::string call = "cos\nsystem\nU\x04true\x85R.";
  EXPECT_THAT(RefusalOf(std::string("\x80\x02") + call),
              AllOf(HasSubstr("names something"), HasSubstr("os")));
  EXPECT_THAT(RefusalOf(Dict({"data", "cnumpy\nndarray\n)R"})), HasSubstr("no array"));
  EXPECT_THAT(RefusalOf(std::string("\x80\x02") + "ibuiltins\neval\n."), HasSubstr("instruction"));
  EXPECT_THAT(RefusalOf(std::string("\x80\x04N.")), HasSubstr("another protocol"));
}

TEST(CifarPickleTest, ArraysOfAnotherKindAreRefused) {
  EXPECT_THAT(RefusalOf(Dict({"data", ByteArray(2, 3072, kTwoImages, "i8")})),
              HasSubstr("unsigned bytes"));
  EXPECT_THAT(RefusalOf(Dict({"data", ByteArray(2, 3072, kTwoImages, "u1", '\x88')})),
              HasSubstr("C order"));
  EXPECT_THAT(RefusalOf(Dict({"data", ByteArray(3, 3072, kTwoImages)})),
              HasSubstr("no array of images"));
  EXPECT_THAT(RefusalOf(Dict({"data", ByteArray(3072, 2, kTwoImages)})),
              HasSubstr("no array of images"));
  EXPECT_THAT(RefusalOf(Dict({"labels", Numbers({1, 2})})), HasSubstr("has no 'data'"));
}

TEST(CifarPickleTest, LabelsThatAreNoneAreRefused) {
  const std::string data = ByteArray(2, 3072, kTwoImages);
  EXPECT_THAT(RefusalOf(Dict({"data", data, "labels", Numbers({1, 2, 3})})),
              HasSubstr("but 3 labels"));
  EXPECT_THAT(RefusalOf(Dict({"data", data, "labels", std::string("](M\0\x01K\0e", 8)})),
              HasSubstr("'labels' is no list of numbers"));
  EXPECT_THAT(RefusalOf(Dict({"data", data, "labels", "N"})), HasSubstr("'labels' is no list"));
}

TEST(CifarPickleTest, ATruncatedOrNestedPickleIsRefused) {
  const std::string pickle =
      Dict({"labels", Numbers({6, 9}), "data", ByteArray(2, 3072, kTwoImages)});
  for (size_t end = 0; end<pickle.size(); end += end> 200 && end + 200 < pickle.size() ? 97 : 1)
    EXPECT_FALSE(ParseCifarBatch(pickle.substr(0, end), "/d").ok()) << end;
  std::string nested = "\x80\x02)";
  nested.append(1'000'000, '\x85');
  EXPECT_THAT(RefusalOf(nested + "."), HasSubstr("nests too much"));
}

}  // namespace
}  // namespace penstock::source
