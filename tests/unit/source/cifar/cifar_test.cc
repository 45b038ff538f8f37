// CIFAR's binary files.
#include "server/source/cifar/cifar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/source/parse/directly.h"
#include "tests/support/files/temp_folder.h"
#include "tests/unit/source/cifar/pickles.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A record of an image whose byte is a function of channel and pixel.
std::string Record(const std::string& labels, int of) {
  std::string record = labels;
  for (int channel = 0; channel < 3; ++channel)
    for (int pixel = 0; pixel < 1024; ++pixel)
      record.push_back(static_cast<char>(100 * channel + pixel + of));
  return record;
}

class CifarTest : public ::testing::Test {
 protected:
  CifarTest() {
    for (int i = 1; i <= 5; ++i)
      temp_.Write("ten/data_batch_" + std::to_string(i) + ".bin",
                  Record(std::string(1, static_cast<char>(i)), i) + Record("\x09", 10 * i));
    temp_.Write("ten/test_batch.bin", Record("\x07", 77));
    temp_.Write("hundred/train.bin", Record("\x13\x63", 1) + Record(std::string(2, '\0'), 2));
    temp_.Write("hundred/test.bin", Record("\x01\x02", 3));
  }

  absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::string& rest) const {
    return OpenCifar({.spec = ParseCifarText("cifar:" + temp_.path() + "/" + rest).value()},
                     *DirectParsers());
  }
  std::string Refusal(const std::string& rest) const {
    return std::string(Open(rest).status().message());
  }
  static std::string Image(const Dataset& dataset, uint64_t sample) {
    std::string row(3072, '\0');
    std::byte* blocks[] = {reinterpret_cast<std::byte*>(row.data())};
    const uint64_t samples[] = {sample};
    EXPECT_TRUE(dataset.CopyRows(dataset.Select({}).value(), samples, blocks).ok());
    return row;
  }
  static std::string Expected(int of) {
    std::string row;
    for (int pixel = 0; pixel < 1024; ++pixel)
      for (int channel = 0; channel < 3; ++channel)
        row.push_back(static_cast<char>(100 * channel + pixel + of));
    return row;
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(CifarTest, TheTrainingBatchesComeInOrderWithChannelsLast) {
  const auto dataset = Open("ten").value();

  ASSERT_EQ(dataset->samples(), 10u);
  EXPECT_EQ(dataset->kind(), "cifar");
  EXPECT_EQ(dataset->classes().size(), 10u);
  EXPECT_EQ(dataset->classes()[9], "truck");
  for (int i = 1; i <= 5; ++i) {
    const auto first = static_cast<uint64_t>(2 * i - 2);
    EXPECT_EQ(dataset->label(first), i);
    EXPECT_EQ(dataset->label(first + 1), 9);
    EXPECT_EQ(Image(*dataset, first), Expected(i));
    EXPECT_EQ(Image(*dataset, first + 1), Expected(10 * i));
  }
}

TEST_F(CifarTest, TheTestSplitIsItsOwnFile) {
  const auto dataset = Open("ten,split=test").value();

  ASSERT_EQ(dataset->samples(), 1u);
  EXPECT_EQ(dataset->label(0), 7);
  EXPECT_EQ(Image(*dataset, 0), Expected(77));
}

TEST_F(CifarTest, TheHundredClassesAreFineOrCoarse) {
  const auto fine = Open("hundred").value(), coarse = Open("hundred,labels=coarse").value();

  EXPECT_EQ(fine->classes().size(), 100u);
  EXPECT_EQ(fine->classes()[99], "worm");
  EXPECT_EQ(fine->label(0), 99);
  EXPECT_EQ(coarse->classes().size(), 20u);
  EXPECT_EQ(coarse->label(0), 19);
  EXPECT_EQ(Image(*coarse, 1), Expected(2));
  EXPECT_NE(fine->digest(), coarse->digest());
  EXPECT_EQ(Open("hundred,split=test").value()->label(0), 2);
}

TEST_F(CifarTest, WhatIsMissingOrDamagedIsRefusedByName) {
  EXPECT_THAT(Refusal("ten,labels=coarse"), HasSubstr("has no coarse labels"));
  EXPECT_THAT(Refusal("none"), HasSubstr("does not have CIFAR's files"));
  temp_.Write("ten/data_batch_3.bin", Record("\x01", 1) + "x");
  EXPECT_THAT(Refusal("ten"), AllOf(HasSubstr("data_batch_3.bin"), HasSubstr("3074 bytes")));
  temp_.Write("ten/data_batch_3.bin", Record("\x0a", 1));
  EXPECT_THAT(Refusal("ten"), HasSubstr("image 0 has the label 10, expected 0 to 9"));
  std::filesystem::remove(temp_.At("ten/data_batch_3.bin"));
  EXPECT_THAT(Refusal("ten"), HasSubstr("data_batch_3.bin"));
}

TEST_F(CifarTest, ThePythonVersionGivesTheSameImages) {
  using penstock::testing::ByteArray;
  const std::string image = Record("", 77), other = Record("", 5);
  temp_.Write("py/test_batch",
              penstock::testing::Dict({"labels", penstock::testing::Numbers({7, 0}), "data",
                                       ByteArray(2, 3072, image + other)}));
  temp_.Write("py100/train",
              penstock::testing::Dict({"coarse_labels", penstock::testing::Numbers({3}),
                                       "fine_labels", penstock::testing::Numbers({42}), "data",
                                       ByteArray(1, 3072, image)}));
  temp_.Write("bad/test_batch", penstock::testing::Dict({"data", ByteArray(1, 3072, image)}));

  const auto dataset = Open("py,split=test").value();
  ASSERT_EQ(dataset->samples(), 2u);
  EXPECT_EQ(dataset->label(0), 7);
  EXPECT_EQ(Image(*dataset, 0), Expected(77));
  EXPECT_EQ(Image(*dataset, 1), Expected(5));
  EXPECT_EQ(Open("py100").value()->label(0), 42);
  EXPECT_EQ(Open("py100,labels=coarse").value()->label(0), 3);
  EXPECT_THAT(Refusal("bad,split=test"), HasSubstr("has no labels"));
}

TEST_F(CifarTest, TheStampChangesWithAFile) {
  const CifarOptions options = {.spec = {.folder = temp_.At("ten")}};
  const std::string before = CifarStamp(options).value().stamp;
  EXPECT_EQ(CifarStamp(options).value().stamp, before);

  temp_.Write("ten/data_batch_2.bin", Record("\x01", 1));

  EXPECT_NE(CifarStamp(options).value().stamp, before);
}

TEST(CifarTextTest, TheTextFormIsReadBackOrRefused) {
  for (const char* text : {"cifar:/d,split=train", "cifar:/d,split=test,labels=coarse"})
    EXPECT_EQ(ToString(ParseCifarText(text).value()), text);
  for (const char* text : {"cifar:", "cifar:d", "cifar:/d,split=val", "cifar:/d,x", "/d"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCifarText(text).status())) << text;
}

}  // namespace
}  // namespace penstock::source
