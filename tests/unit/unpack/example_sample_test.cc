// One record: its image, its fields as rows, and its faults.
#include "server/unpack/example_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/files/record_maker.h"

namespace penstock::unpack {
namespace {

using base::Fault;
using penstock::testing::BytesFeature;
using penstock::testing::ExampleOf;
using penstock::testing::FloatsFeature;
using penstock::testing::IntsFeature;
using penstock::testing::RecordBytes;
using ::testing::ElementsAre;

class ExampleSampleTest : public ::testing::Test {
 protected:
  Fault Open(const std::string& features) {
    record_ = RecordBytes(ExampleOf(features)).substr(12);  // without the header
    return sample_.Open(std::as_bytes(std::span(record_)));
  }
  std::string Image(const std::string& name = "image") {
    const ExampleSample::Image image = sample_.FindImage(name);
    if (image.fault != Fault::kNone) return std::string(base::FaultName(image.fault));
    return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
  }
  // Sets row_ and length_.
  Fault Fill(const RecipeField& field) {
    row_.assign(std::max<size_t>(1, (field.row_bytes() + 7) / 8), -1);
    length_ = -1;
    ExampleSample::FieldRow into = {
        .values = std::as_writable_bytes(std::span(row_)).first(field.row_bytes())};
    if (field.variable) into.length = std::as_writable_bytes(std::span(&length_, 1));
    return sample_.Fill(field, into);
  }
  template <typename Number>
  std::vector<Number> Row(size_t count) const {
    std::vector<Number> numbers(count);
    std::memcpy(numbers.data(), row_.data(), count * sizeof(Number));
    return numbers;
  }

  ExampleSample sample_;
  std::string record_;
  std::vector<int64_t> row_;
  int32_t length_ = 0;
};

const RecipeField kBoxes = {.name = "boxes",
                            .kind = FeatureKind::kInts,
                            .type = base::DType::kInt64,
                            .variable = true,
                            .most = 3};
const RecipeField kWeights = {
    .name = "weights", .kind = FeatureKind::kFloats, .type = base::DType::kFloat32, .most = 2};
const RecipeField kText = {
    .name = "text", .kind = FeatureKind::kBytes, .variable = true, .most = 5};

TEST_F(ExampleSampleTest, DataThatAreCutOffOrDamagedHaveAWrongChecksum) {
  EXPECT_EQ(sample_.Open({}), Fault::kBadChecksum);
  EXPECT_EQ(sample_.Open(std::as_bytes(std::span("abc", 3))), Fault::kBadChecksum);
  ASSERT_EQ(Open(IntsFeature("a", {1})), Fault::kNone);

  record_[3] ^= 1;

  EXPECT_EQ(sample_.Open(std::as_bytes(std::span(record_))), Fault::kBadChecksum);
  EXPECT_EQ(Fill(kText), Fault::kMissing);  // nothing of the previous sample remains
}

TEST_F(ExampleSampleTest, WholeDataThatAreNoExampleAreCorrupt) {
  record_ = RecordBytes("\x0A").substr(12);

  EXPECT_EQ(sample_.Open(std::as_bytes(std::span(record_))), Fault::kCorrupt);
}

TEST_F(ExampleSampleTest, AnImageIsTheOnlyByteStringOfItsFeatureOrAFault) {
  ASSERT_EQ(
      Open(BytesFeature("image", {"pixels"}) + BytesFeature("none", {""}) +
           BytesFeature("two", {"a", "b"}) + BytesFeature("no", {}) + IntsFeature("number", {1})),
      Fault::kNone);

  EXPECT_EQ(Image(), "pixels");
  EXPECT_EQ(Image("none"), "empty");
  for (const std::string name : {"two", "no", "number", "absent"})
    EXPECT_EQ(Image(name), "not an image") << name;
}

TEST_F(ExampleSampleTest, FieldsAreFilledWithZerosBehind) {
  ASSERT_EQ(Open(IntsFeature("boxes", {258, -1}) + FloatsFeature("weights", {1, 0.5f}) +
                 BytesFeature("text", {"hi"})),
            Fault::kNone);

  EXPECT_EQ(Fill(kBoxes), Fault::kNone);
  EXPECT_THAT(Row<int64_t>(3), ElementsAre(258, -1, 0));
  EXPECT_EQ(length_, 2);
  EXPECT_EQ(Fill(kWeights), Fault::kNone);
  EXPECT_THAT(Row<float>(2), ElementsAre(1, 0.5f));
  EXPECT_EQ(Fill(kText), Fault::kNone);
  EXPECT_THAT(Row<char>(5), ElementsAre('h', 'i', 0, 0, 0));
  EXPECT_EQ(length_, 2);
}

TEST_F(ExampleSampleTest, FieldsOfOtherLengthsOrKindsAreFaults) {
  ASSERT_EQ(Open(IntsFeature("boxes", {1, 2, 3, 4}) + FloatsFeature("weights", {1}) +
                 BytesFeature("text", {"longer"})),
            Fault::kNone);

  EXPECT_EQ(Fill(kBoxes), Fault::kTooLong);
  EXPECT_EQ(Fill(kWeights), Fault::kMalformed);
  EXPECT_EQ(Fill(kText), Fault::kTooLong);

  ASSERT_EQ(Open(FloatsFeature("boxes", {1}) + FloatsFeature("weights", {1, 2, 3}) +
                 BytesFeature("text", {"a", "b"})),
            Fault::kNone);

  EXPECT_EQ(Fill(kBoxes), Fault::kMalformed);
  EXPECT_EQ(Fill(kWeights), Fault::kMalformed);
  EXPECT_EQ(Fill(kText), Fault::kMalformed);
}

TEST_F(ExampleSampleTest, AnEmptyListFillsAVariableRowWithZerosAndNoFixedOne) {
  ASSERT_EQ(Open(IntsFeature("boxes", {}) + FloatsFeature("weights", {})), Fault::kNone);

  EXPECT_EQ(Fill(kBoxes), Fault::kNone);
  EXPECT_THAT(Row<int64_t>(3), ElementsAre(0, 0, 0));
  EXPECT_EQ(length_, 0);
  EXPECT_EQ(Fill(kWeights), Fault::kMalformed);
}

}  // namespace
}  // namespace penstock::unpack
