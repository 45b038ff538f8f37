// A request's rows are filled exactly where the recipe says, whatever it says.
#include "server/unpack/row_filler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tests/support/files/record_maker.h"

namespace penstock::unpack {
namespace {

using base::Fault;
using penstock::testing::BytesFeature;
using penstock::testing::ExampleOf;
using penstock::testing::IntsFeature;
using penstock::testing::RecordBytes;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr size_t kSegmentBytes = 128;

std::string Record(const std::vector<int64_t>& numbers, const std::string& text = "t") {
  return RecordBytes(ExampleOf(IntsFeature("numbers", numbers) + BytesFeature("text", {text}) +
                               BytesFeature("image", {"pixels"})))
      .substr(12);
}

class RowFillerTest : public ::testing::Test {
 protected:
  // Two int64 at 0, 16, …; texts of 4 bytes at 64, 68, …, with their lengths at 96, 100, ….
  static Recipe TwoFields() {
    return {.packing = SamplePacking::kExample,
            .fields = {{.name = "numbers",
                        .kind = FeatureKind::kInts,
                        .type = base::DType::kInt64,
                        .most = 2,
                        .values = 0},
                       {.name = "text",
                        .kind = FeatureKind::kBytes,
                        .variable = true,
                        .most = 4,
                        .values = 64,
                        .lengths = 96}}};
  }
  absl::StatusOr<RowFiller::Filled> Fill(Recipe recipe, const std::vector<std::string>& records) {
    samples_.clear();
    for (const std::string& record : records) samples_ += record;
    if (recipe.samples.empty())
      for (const std::string& record : records) recipe.samples.push_back(record.size());
    return filler_.Fill(recipe, std::as_bytes(std::span(samples_)), segment());
  }
  std::span<std::byte> segment() { return std::as_writable_bytes(std::span(memory_)); }
  bool IsUntouched() const {
    return std::all_of(memory_.begin(), memory_.end(), [](int64_t word) { return word == -1; });
  }
  std::string Text(size_t at, size_t bytes) {
    return {reinterpret_cast<const char*>(segment().data()) + at, bytes};
  }

  std::vector<int64_t> memory_ = std::vector<int64_t>(kSegmentBytes / 8, -1);
  std::string samples_;
  RowFiller filler_;
};

// ---- Refusals before anything is written. ----

TEST_F(RowFillerTest, ARecipeThatLeadsOutOfTheSegmentWritesNothing) {
  const std::vector<std::function<void(Recipe&)>> lies = {
      [](Recipe& recipe) { recipe.fields[0].values = kSegmentBytes - 24; },
      [](Recipe& recipe) { recipe.fields[0].values = UINT64_MAX - 7; },
      [](Recipe& recipe) { recipe.fields[0].values = kSegmentBytes; },
      [](Recipe& recipe) { recipe.fields[0].values = 4; },  // not aligned
      [](Recipe& recipe) { recipe.fields[0].most = kMaxFieldBytes / 8; },
      [](Recipe& recipe) { recipe.fields[1].lengths = kSegmentBytes - 4; },
      [](Recipe& recipe) { recipe.fields[1].lengths = UINT64_MAX; },
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    Recipe recipe = TwoFields();
    lies[i](recipe);
    EXPECT_TRUE(absl::IsInvalidArgument(Fill(recipe, {Record({1, 2}), Record({3, 4})}).status()))
        << i;
    EXPECT_TRUE(IsUntouched()) << i;
  }
}

TEST_F(RowFillerTest, ARecipeThatLeadsOutOfTheSamplesWritesNothing) {
  const uint64_t whole = Record({1, 2}).size();
  for (const std::vector<uint64_t>& sizes : std::vector<std::vector<uint64_t>>{
           {whole + 1}, {whole - 1}, {whole, 1}, {UINT64_MAX}, {1, UINT64_MAX}, {0}}) {
    Recipe recipe = TwoFields();
    recipe.samples = sizes;
    EXPECT_TRUE(absl::IsInvalidArgument(Fill(recipe, {Record({1, 2})}).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Fill(TwoFields(), {}).status()));
  EXPECT_TRUE(IsUntouched());
}

// ---- Filled rows. ----

TEST_F(RowFillerTest, RowsFollowEachOtherInEachFieldAndNothingElseIsTouched) {
  const auto filled = Fill(TwoFields(), {Record({1, 2}, "ab"), Record({3, 4}, "")});

  ASSERT_TRUE(filled.ok()) << filled.status();
  EXPECT_EQ(filled->fault, Fault::kNone);
  EXPECT_THAT(std::span(memory_).first(4), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(Text(64, 8), std::string("ab\0\0\0\0\0\0", 8));
  EXPECT_EQ(Text(96, 8), std::string("\2\0\0\0\0\0\0\0", 8));
  EXPECT_THAT(std::span(memory_).subspan(4, 4), Each(-1));
  EXPECT_THAT(std::span(memory_).subspan(9, 3), Each(-1));
  EXPECT_THAT(std::span(memory_).subspan(13), Each(-1));
}

TEST_F(RowFillerTest, TheImageIsHandedBackAndItsFaultPrecedesThoseOfFields) {
  Recipe recipe = TwoFields();
  recipe.image = "image";
  const auto filled = Fill(recipe, {Record({1, 2})});
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(filled->image.data()), filled->image.size()),
            "pixels");

  recipe.image = "numbers";
  EXPECT_EQ(Fill(recipe, {Record({1, 2, 3})})->fault, Fault::kNotAnImage);
  recipe.image = "image";
  EXPECT_EQ(Fill(recipe, {Record({1, 2, 3})})->fault, Fault::kMalformed);
}

TEST_F(RowFillerTest, AFileIsHandedBackAndNotCopied) {
  Recipe recipe = TwoFields();
  recipe.image = "image";
  recipe.fields[1] = {.name = "text", .kind = FeatureKind::kBytes, .file = true, .most = 4};

  const auto filled = Fill(recipe, {Record({1, 2}, "a whole file")});

  ASSERT_TRUE(filled.ok()) << filled.status();
  ASSERT_EQ(filled->files.size(), 1u);
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(filled->files[0].data()), filled->files[0].size()),
      "a whole file");
  EXPECT_THAT(std::span(memory_).first(2), ElementsAre(1, 2));
  EXPECT_THAT(std::span(memory_).subspan(2), Each(-1));

  recipe.fields[1].name = "numbers";
  EXPECT_EQ(Fill(recipe, {Record({1, 2})})->fault, Fault::kMalformed);
}

TEST_F(RowFillerTest, ItemsOfSeveralNumbersAreCountedAndNoneIsDivided) {
  Recipe recipe = TwoFields();
  recipe.fields = {{.name = "numbers",
                    .kind = FeatureKind::kInts,
                    .type = base::DType::kInt64,
                    .variable = true,
                    .per_item = 2,
                    .most = 6,
                    .values = 0,
                    .lengths = 96}};

  EXPECT_EQ(Fill(recipe, {Record({1, 2, 3, 4})})->fault, Fault::kNone);
  EXPECT_THAT(std::span(memory_).first(7), ElementsAre(1, 2, 3, 4, 0, 0, -1));
  EXPECT_EQ(Text(96, 4), std::string("\2\0\0\0", 4));
  EXPECT_EQ(Fill(recipe, {Record({1, 2, 3})})->fault, Fault::kMalformed);
  EXPECT_EQ(Fill(recipe, {Record({1, 2, 3, 4, 5, 6, 7, 8})})->fault, Fault::kTooLong);
}

TEST_F(RowFillerTest, TheFirstSampleWithAFaultIsNamed) {
  const auto filled = Fill(TwoFields(), {Record({1, 2}), Record({3}), Record({5, 6}, "too long")});

  EXPECT_EQ(filled->fault, Fault::kMalformed);
  EXPECT_EQ(filled->row, 1u);
}

TEST_F(RowFillerTest, ARowWithoutASampleIsPassedOver) {
  const auto filled = Fill(TwoFields(), {Record({1, 2}), "", Record({5, 6})});

  EXPECT_EQ(filled->fault, Fault::kNone);
  EXPECT_THAT(std::span(memory_).first(6), ElementsAre(1, 2, -1, -1, 5, 6));
}

}  // namespace
}  // namespace penstock::unpack
