// TFRecord files as a dataset: refusals, samples, reading, and changes.
#include "server/source/tfrecord/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/parse/directly.h"
#include "server/source/tfrecord/tfrecord_format.h"
#include "tests/support/fakes/unpacked.h"
#include "tests/support/files/record_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using penstock::testing::BytesFeature;
using penstock::testing::ExampleOf;
using penstock::testing::FloatsFeature;
using penstock::testing::ImageRecord;
using penstock::testing::IntsFeature;
using penstock::testing::RecordBytes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordsTest : public ::testing::Test {
 protected:
  absl::StatusOr<OpenedShards> TryOpen() {
    ShardOptions options;
    options.spec = asked_;
    if (options.spec.shards.empty()) options.spec.shards = {folder_.At("x.tfrecord")};
    options.state_dir = folder_.At("state");
    options.threads = 3;
    return OpenRecords(options, DirectParsers());
  }
  std::unique_ptr<Dataset> Open() {
    auto opened = TryOpen();
    EXPECT_TRUE(opened.ok()) << opened.status();
    from_cache_ = opened.ok() && opened->from_cache;
    return opened.ok() ? std::move(opened->dataset) : nullptr;
  }
  std::string Refusal() { return std::string(TryOpen().status().message()); }
  void Write(const std::string& bytes) { folder_.Write("x.tfrecord", bytes); }

  static std::string Read(const Dataset& dataset, uint64_t sample) {
    const auto read = penstock::testing::ReadUnpacked(*dataset.NewReader(), sample);
    if (!read.ok()) return read.status().ToString();
    return read->fault == base::Fault::kNone ? read->image
                                             : std::string(base::FaultName(read->fault));
  }
  // Sets rows_ to the sample's fields. Returns the fault.
  base::Fault ReadFields(const Dataset& dataset, uint64_t sample,
                         const std::vector<FieldRequest>& requests) {
    const Selection selection = dataset.Select(requests).value();
    const auto read =
        penstock::testing::ReadUnpacked(*dataset.NewReader(), sample, selection).value();
    rows_ = read.rows;
    return read.fault;
  }

  penstock::testing::TempFolder folder_;
  ShardsSpec asked_;
  bool from_cache_ = false;
  std::vector<std::string> rows_;
};

// ---- Refusals. ----

TEST_F(RecordsTest, WhatIsNoRecordIsRefusedWithFileAndPlace) {
  const std::string record = ImageRecord("image", 1);

  Write(record + "what is this, then?");
  EXPECT_THAT(Refusal(), HasSubstr(absl::StrCat("x.tfrecord' at byte ", record.size())));
  Write(record + record.substr(0, 30));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("truncated"), HasSubstr("copy it again")));
  Write("\x1F\x8B\x08 and so on");
  EXPECT_THAT(Refusal(), HasSubstr("compressed (gzip)"));
  Write(record + RecordBytes("\x0A"));
  EXPECT_THAT(Refusal(),
              AllOf(HasSubstr("not a tf.train.Example"), HasSubstr("a number is truncated")));
  Write("");
  EXPECT_THAT(Refusal(), HasSubstr("no samples"));
}

TEST_F(RecordsTest, LabelsThatAreNoneOrMissingAreRefusedWithTheRemedy) {
  Write(RecordBytes(ExampleOf(BytesFeature("image/class/label", {"dog"}))));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("'image/class/label' is not a label"), HasSubstr("none")));
  Write(RecordBytes(ExampleOf(IntsFeature("image/class/label", {1, 2}))));
  EXPECT_THAT(Refusal(), HasSubstr("is not a label"));
  Write(RecordBytes(ExampleOf(IntsFeature("image/class/label", {int64_t{1} << 40}))));
  EXPECT_THAT(Refusal(), HasSubstr("is not a label"));
  Write(ImageRecord("image", 1) + RecordBytes(ExampleOf(BytesFeature("image/encoded", {"x"}))));
  EXPECT_THAT(Refusal(), HasSubstr("x.tfrecord#1' has no label"));
}

TEST_F(RecordsTest, AnImageThatNoRecordHasIsRefusedWithWhatTheyHave) {
  Write(ImageRecord("image", 1));
  asked_.image = "jpeg";

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("'jpeg'"), HasSubstr("image/class/label")));
}

// ---- Samples and reading. ----

TEST_F(RecordsTest, SamplesComeInTheOrderOfTheFilesWithTheirLabels) {
  folder_.Write("d/a.tfrecord", ImageRecord("image a", 2) + ImageRecord("image b", 0));
  folder_.Write("d/b.tfrecord", ImageRecord(std::string(100'000, 'x'), 1));
  asked_.shards = {folder_.At("d")};

  const auto dataset = Open();

  ASSERT_EQ(dataset->samples(), 3u);
  EXPECT_EQ(dataset->kind(), "tfrecord");
  EXPECT_EQ(dataset->shard_samples(), 2u);
  EXPECT_THAT(dataset->classes(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(dataset->label(0), 2);
  EXPECT_EQ(Read(*dataset, 0), "image a");
  EXPECT_EQ(Read(*dataset, 1), "image b");
  EXPECT_EQ(Read(*dataset, 2), std::string(100'000, 'x'));
  EXPECT_EQ(dataset->path(1), folder_.At("d/a.tfrecord#1"));
  EXPECT_EQ(dataset->path(2), folder_.At("d/b.tfrecord#0"));
}

TEST_F(RecordsTest, ARecordWhoseDataChangedIsAFaultAndItsNeighboursAreRead) {
  std::string damaged = ImageRecord("image", 1);
  damaged[damaged.size() - 6] ^= 1;  // in the image
  Write(damaged + ImageRecord("other", 1));

  const auto dataset = Open();

  EXPECT_EQ(Read(*dataset, 0), "its checksum is wrong");
  EXPECT_EQ(Read(*dataset, 1), "other");
}

TEST_F(RecordsTest, AnImageThatIsMissingEmptyOrTwiceIsAFault) {
  asked_.label = "none";
  Write(ImageRecord("image", 1) + RecordBytes(ExampleOf(IntsFeature("image/class/label", {1}))) +
        ImageRecord("", 1) + RecordBytes(ExampleOf(BytesFeature("image/encoded", {"a", "b"}))));

  const auto dataset = Open();

  EXPECT_EQ(Read(*dataset, 0), "image");
  EXPECT_EQ(Read(*dataset, 1), "not an image");
  EXPECT_EQ(Read(*dataset, 2), "empty");
  EXPECT_EQ(Read(*dataset, 3), "not an image");
}

TEST_F(RecordsTest, FeaturesOfOneLengthHaveAShapeAndTheOthersAreOfVariableLength) {
  const auto record = [](const std::vector<int64_t>& box, const std::string& text) {
    return RecordBytes(ExampleOf(
        BytesFeature("image/encoded", {"image"}) + IntsFeature("width", {640}) +
        IntsFeature("box", box) + FloatsFeature("weights", {1, 2, 3}) +
        BytesFeature("text", {text}) + BytesFeature("pair", {"a", "b"}) + IntsFeature("none", {})));
  };
  Write(record({1, 2}, "hello") + record({}, ""));

  const auto dataset = Open();

  std::string all;
  for (const SampleField& field : dataset->fields())
    all += absl::StrCat(field.name, " ", base::DTypeName(field.type), " ",
                        field.variable        ? "variable"
                        : field.shape.empty() ? "scalar"
                                              : absl::StrCat(field.shape[0]),
                        "; ");
  EXPECT_EQ(all,
            "image/encoded uint8 variable; width int64 scalar; box int64 variable; "
            "weights float32 3; text uint8 variable; ");
  EXPECT_FALSE(dataset->labeled());
}

TEST_F(RecordsTest, FieldsAreReadWithTheirLengthsAndZerosBehind) {
  Write(RecordBytes(ExampleOf(BytesFeature("image/encoded", {"image"}) + IntsFeature("box", {258}) +
                              FloatsFeature("weights", {1, 0}) + BytesFeature("text", {"hi"}))) +
        RecordBytes(ExampleOf(BytesFeature("image/encoded", {"image"}) +
                              IntsFeature("box", {1, 2}) + FloatsFeature("weights", {1, 0}))));
  const auto dataset = Open();
  const std::vector<FieldRequest> requests = {
      {.name = "box", .most = 2}, {.name = "weights"}, {.name = "text", .most = 4}};

  ASSERT_EQ(ReadFields(*dataset, 0, requests), base::Fault::kNone);

  EXPECT_THAT(rows_, ElementsAre(std::string("\2\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16),
                                 std::string("\1\0\0\0", 4), std::string("\0\0\x80\x3F\0\0\0\0", 8),
                                 std::string("hi\0\0", 4), std::string("\2\0\0\0", 4)));
  EXPECT_EQ(ReadFields(*dataset, 1, requests), base::Fault::kMissing);
  EXPECT_EQ(ReadFields(*dataset, 1, {{.name = "box", .most = 1}}), base::Fault::kTooLong);
}

TEST_F(RecordsTest, AListThatIsAlwaysAsLongIsOfVariableLengthIfAGreatestOneIsRequested) {
  Write(RecordBytes(ExampleOf(BytesFeature("image/encoded", {"image"}) +
                              FloatsFeature("weights", {1, 0}) + IntsFeature("one", {7}))));
  const auto dataset = Open();

  ASSERT_EQ(ReadFields(*dataset, 0, {{.name = "weights", .most = 3}, {.name = "one", .most = 2}}),
            base::Fault::kNone);

  EXPECT_THAT(
      rows_,
      ElementsAre(std::string("\0\0\x80\x3F\0\0\0\0\0\0\0\0", 12), std::string("\2\0\0\0", 4),
                  std::string("\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16), std::string("\1\0\0\0", 4)));
}

TEST_F(RecordsTest, RecordsWithoutAnImageAreRows) {
  const std::string record =
      RecordBytes(ExampleOf(IntsFeature("x", {1, 2}) + IntsFeature("y", {5})));
  Write(record + RecordBytes(ExampleOf(IntsFeature("x", {3, 4}) + IntsFeature("y", {6}))));
  const auto dataset = Open();
  ASSERT_EQ(dataset->storage(), Storage::kRows);
  EXPECT_TRUE(dataset->packed());
  EXPECT_EQ(dataset->largest_sample(), record.size() - kRecordHeader);
  const Selection selection = *dataset->Select({});
  const auto read = penstock::testing::ReadUnpacked(*dataset->NewReader(), 1, selection).value();

  EXPECT_EQ(read.fault, base::Fault::kNone);
  EXPECT_THAT(read.rows, ElementsAre(std::string("\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0", 16),
                                     std::string("\6\0\0\0\0\0\0\0", 8)));
}

// ---- Changes on disk. ----

TEST_F(RecordsTest, TheManifestIsCachedUntilAFileChanges) {
  Write(ImageRecord("image", 1));
  const uint64_t digest = Open()->digest();
  EXPECT_FALSE(from_cache_);
  EXPECT_EQ(Open()->digest(), digest);
  EXPECT_TRUE(from_cache_);

  Write(ImageRecord("other", 1));

  EXPECT_NE(Open()->digest(), digest);
  EXPECT_FALSE(from_cache_);
}

TEST_F(RecordsTest, AFileThatWasWrittenToIsSaidInWords) {
  Write(ImageRecord("image", 1));
  const auto dataset = Open();

  Write(ImageRecord("other", 1));

  EXPECT_THAT(Read(*dataset, 0), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("written to")));
}

TEST_F(RecordsTest, APathMeansThemByItsNameOrByWhatTheFolderHolds) {
  folder_.Write("d/a.tfrecord", "");
  folder_.Write("e/a.tar", "");

  for (const std::string path : {"/x/a.tfrecord", "/x/a.tfrecords", "/x/a-{0..3}.tfrecord",
                                 "/x/train-00003-of-01024", "/x/train-{00000..01023}-of-01024"})
    EXPECT_TRUE(IsRecordsPath(path)) << path;
  EXPECT_TRUE(IsRecordsPath(folder_.At("d")));
  EXPECT_FALSE(IsRecordsPath(folder_.At("e")));
  for (const std::string path : {"/x/a.tar", "/x/a-{0..3}.tar", "/x/one-of-", "/x/one-of-many"})
    EXPECT_FALSE(IsRecordsPath(path)) << path;
}

}  // namespace
}  // namespace penstock::source
