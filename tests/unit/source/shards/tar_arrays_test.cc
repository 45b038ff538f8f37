// Members of tar shards that are NumPy arrays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/source/shards/tar_fixture.h"

namespace penstock::source {
namespace {

using penstock::testing::TarFile;
using ::testing::ElementsAre;

// An array file as NumPy writes version 1.0, with `padding` additional spaces in its header.
std::string NpyMember(const std::string& descr, const std::string& shape, const std::string& data,
                      size_t padding = 0) {
  std::string literal = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape +
                        ", }" + std::string(padding, ' ') + "\n";
  const std::string length = {static_cast<char>(literal.size()), '\0'};
  return std::string("\x93NUMPY\x01\x00", 8) + length + literal + data;
}

// As a batch holds the number of items.
std::string IntOf(int32_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// Images with an array each.
std::string TarOfArrays(const std::vector<std::string>& arrays) {
  std::string tar;
  for (size_t i = 0; i < arrays.size(); ++i)
    tar += TarFile(absl::StrCat(i, ".jpg"), "image") + TarFile(absl::StrCat(i, ".npy"), arrays[i]);
  return tar;
}

TEST_F(TarFieldsTest, ArraysOfAnotherTypeOrShapeThanTheFirstAreMalformed) {
  folder_.Write("x.tar",
                TarOfArrays({NpyMember("<u2", "(1, 2)", "1234"), NpyMember("<i2", "(1, 2)", "1234"),
                             NpyMember("<u2", "(1, 1)", "12"), NpyMember("<u2", "(2,)", "1234"),
                             NpyMember("<u2", "(1, 2)", "12"), "no array"}));
  const auto dataset = Open();
  EXPECT_FALSE(dataset->fields()[1].variable);

  for (uint64_t sample = 1; sample < 6; ++sample)
    EXPECT_EQ(*ReadFields(*dataset, sample, {{.name = "npy"}}), base::Fault::kMalformed) << sample;
}

TEST_F(TarFieldsTest, TheFirstSideOfArraysMayVary) {
  folder_.Write(
      "x.tar",
      TarOfArrays({NpyMember("<u2", "(2, 2)", "12345678"), NpyMember("<u2", "(1, 2)", "abcd", 16),
                   NpyMember("<u2", "(0, 2)", ""), NpyMember("<f8", "(0,)", ""),  // numpy.array([])
                   NpyMember("<u2", "(3, 2)", "too many of 2"),
                   NpyMember("<u2", "(3, 2)", "123456789abc")}));
  const auto dataset = Open();
  const SampleField field = dataset->fields()[1];
  EXPECT_TRUE(field.variable);
  EXPECT_EQ(field.type, base::DType::kUInt16);
  EXPECT_THAT(field.shape, ElementsAre(2));

  const std::string rows[] = {"12345678", std::string("abcd\0\0\0\0", 8), std::string(8, '\0'),
                              std::string(8, '\0')};
  const int counts[] = {2, 1, 0, 0};
  for (uint64_t sample = 0; sample < 4; ++sample) {
    ASSERT_EQ(*ReadFields(*dataset, sample, {{.name = "npy", .most = 2}}), base::Fault::kNone);
    EXPECT_THAT(rows_, ElementsAre(rows[sample], IntOf(counts[sample])));
  }
  EXPECT_EQ(*ReadFields(*dataset, 4, {{.name = "npy", .most = 3}}), base::Fault::kMalformed);
  EXPECT_EQ(*ReadFields(*dataset, 5, {{.name = "npy", .most = 2}}), base::Fault::kTooLong);
}

TEST_F(TarFieldsTest, ArraysFollowTheFirstOneWithElementsInAnyShard) {
  folder_.Write("a.tar", TarOfArrays({NpyMember("<f8", "(0,)", "")}));
  folder_.Write("b.tar", TarOfArrays({NpyMember("<u2", "(2, 1)", "1234")}));
  asked_.shards = {folder_.At("a.tar"), folder_.At("b.tar")};
  const auto dataset = Open();
  EXPECT_EQ(dataset->fields()[1].type, base::DType::kUInt16);

  ASSERT_EQ(*ReadFields(*dataset, 0, {{.name = "npy", .most = 2}}), base::Fault::kNone);
  EXPECT_THAT(rows_, ElementsAre(std::string(4, '\0'), IntOf(0)));
  ASSERT_EQ(*ReadFields(*dataset, 1, {{.name = "npy", .most = 2}}), base::Fault::kNone);
  EXPECT_THAT(rows_, ElementsAre("1234", IntOf(2)));
}

TEST_F(TarFieldsTest, ArraysOfOneLengthMayBeRequestedAsOfVariableLength) {
  folder_.Write("x.tar", TarOfArrays({NpyMember("<u2", "(1, 2)", "1234")}));
  const auto dataset = Open();

  ASSERT_EQ(*ReadFields(*dataset, 0, {{.name = "npy", .most = 2}}), base::Fault::kNone);
  EXPECT_THAT(rows_, ElementsAre(std::string("1234\0\0\0\0", 8), IntOf(1)));
}

TEST_F(TarFieldsTest, ArraysAreTensorsWhateverTheirHeadersLength) {
  folder_.Write("x.tar", TarFile("a.jpg", "image") +
                             TarFile("a.box.npy", NpyMember("<f4", "(1, 2)", "12345678")) +
                             TarFile("b.jpg", "image") +
                             TarFile("b.box.npy", NpyMember("<f4", "(1, 2)", "abcdefgh", 7)));
  const auto dataset = Open();
  const SampleField field = dataset->fields()[1];
  EXPECT_EQ(field.name, "box.npy");
  EXPECT_EQ(field.type, base::DType::kFloat32);
  EXPECT_THAT(field.shape, ElementsAre(1, 2));
  EXPECT_FALSE(field.variable);

  for (const uint64_t sample : {0, 1}) {
    ASSERT_EQ(*ReadFields(*dataset, sample, {{.name = "box.npy"}}), base::Fault::kNone);
    EXPECT_THAT(rows_, ElementsAre(sample == 0 ? "12345678" : "abcdefgh"));
  }
}

TEST_F(TarFieldsTest, WhatIsNoTensorComesAsBytes) {
  folder_.Write("x.tar",
                TarFile("a.jpg", "image") + TarFile("a.npy", NpyMember("|O", "(2,)", "pickles")));

  EXPECT_TRUE(Open()->fields()[1].variable);
}

}  // namespace
}  // namespace penstock::source
