// MNIST's files: what they must contain, and the errors for anything else.
#include "server/source/arrays/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/arrays/idx_format.h"
#include "server/source/parse/directly.h"
#include "tests/support/fakes/row_copy.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using penstock::testing::Gzip;
using penstock::testing::IdxHeaderBytes;
using penstock::testing::IdxImages;
using penstock::testing::IdxLabels;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Headers. ----

absl::StatusOr<IdxHeader> ParseIdx(const std::string& bytes, IdxRole role = IdxRole::kImages) {
  return ParseIdxHeader(std::as_bytes(std::span(bytes)), role, "/data/x");
}

std::string IdxRefusal(const std::string& bytes, IdxRole role = IdxRole::kImages) {
  const auto header = ParseIdx(bytes, role);
  EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(header.status().message());
}

TEST(IdxHeaderTest, AnEmptyFileIsTruncated) {
  EXPECT_THAT(IdxRefusal(""),
              AllOf(HasSubstr("'/data/x'"), HasSubstr("truncated: it has 0 bytes")));
}

TEST(IdxHeaderTest, AHeaderThatEndsInItsDimensionsIsTruncated) {
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5, 28, 28}).substr(0, 15)),
              HasSubstr("its header has 16 bytes, the file 15"));
}

TEST(IdxHeaderTest, AnythingElseIsNamedByItsMagicNumber) {
  EXPECT_THAT(IdxRefusal("\xff\xd8\xff\xe0 a photograph"),
              AllOf(HasSubstr("byte 0 is ffd8ffe0"), HasSubstr("not an IDX file"),
                    HasSubstr("wanted an IDX file of images")));
}

TEST(IdxHeaderTest, ElementsThatAreNoUnsignedBytesAreNamed) {
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5, 28, 28}, 0x0D)), HasSubstr("32-bit floats"));
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5, 28, 28}, 0x0A)), HasSubstr("an unknown type"));
}

TEST(IdxHeaderTest, ImagesAndLabelsAreToldApartByTheirDimensions) {
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5})),
              HasSubstr("1 dimensions; wanted an IDX file of images"));
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5, 28, 28}), IdxRole::kLabels),
              HasSubstr("3 dimensions; wanted an IDX file of labels"));
}

TEST(IdxHeaderTest, ADimensionOfNoneIsRefusedWithItsPlace) {
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5, 0, 28})), HasSubstr("dimension 1, at byte 8, is 0"));
}

TEST(IdxHeaderTest, DimensionsWhoseProductNoFileCanHoldAreRefused) {
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({~0u, ~0u, ~0u})), HasSubstr("more than a file can hold"));
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({1, ~0u, ~0u, 16})), HasSubstr("more than 2"));
}

TEST(IdxHeaderTest, MoreChannelsThanAFinishTakesAreRefused) {
  EXPECT_THAT(IdxRefusal(IdxHeaderBytes({5, 3, 32, 32})), HasSubstr("at most 16 channels"));
}

TEST(IdxHeaderTest, SizesAreBigEndian) {
  const auto header = ParseIdx(IdxHeaderBytes({60'000, 28, 29}));

  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->items(), 60'000u);
  EXPECT_EQ(header->item_bytes, 28u * 29u);
  EXPECT_EQ(header->header_bytes(), 16u);
}

// ---- Files. ----

class IdxTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Dataset>> Open(uint64_t max_unpacked = 1 << 20) const {
    return OpenIdx({.files = {temp_.At("data/images"), temp_.At("data/labels")},
                    .roots = {},
                    .max_unpacked_bytes = max_unpacked},
                   *DirectParsers());
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::string& images,
                                                const std::string& labels) const {
    temp_.Write("data/images", images);
    temp_.Write("data/labels", labels);
    return Open();
  }
  void ExpectRefused(const std::string& images, const std::string& labels, absl::StatusCode code,
                     const std::string& words) const {
    const auto opened = Open(images, labels);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), code) << opened.status();
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(words));
  }
  static std::string Row(const Dataset& dataset, uint64_t sample) {
    std::string row(testing::ShapeOf(dataset).bytes(), '\0');
    const absl::Status copied =
        testing::CopyRows(dataset, std::span(&sample, 1), reinterpret_cast<std::byte*>(row.data()));
    return copied.ok() ? row : std::string(copied.message());
  }

  penstock::testing::TempFolder temp_;
};

using enum absl::StatusCode;

TEST_F(IdxTest, CountsThatDisagreeAreRefusedWithBoth) {
  ExpectRefused(IdxImages(5, 4, 4), IdxLabels(6), kInvalidArgument, "has 5 images");
  ExpectRefused(Gzip(IdxImages(5, 4, 4)), IdxLabels(6), kInvalidArgument, "6 labels");
}

TEST_F(IdxTest, AFileThatEndsTooEarlyIsRefusedWithThePlace) {
  const std::string images = IdxImages(5, 4, 4);

  ExpectRefused(images.substr(0, 95), IdxLabels(5), kInvalidArgument,
                "end at byte 96; the file ends at byte 95");
  ExpectRefused(Gzip(images.substr(0, 95)), IdxLabels(5), kInvalidArgument, "ends at byte 95");
  ExpectRefused(images, IdxLabels(5).substr(0, 12), kInvalidArgument, "labels' is truncated");
  ExpectRefused(images, Gzip(IdxLabels(5).substr(0, 12)), kInvalidArgument, "is truncated");
}

TEST_F(IdxTest, BytesBehindTheLastItemAreRefused) {
  ExpectRefused(IdxImages(5, 4, 4) + "x", IdxLabels(5), kInvalidArgument, "ends at byte 97");
  ExpectRefused(Gzip(IdxImages(5, 4, 4) + "x"), IdxLabels(5), kInvalidArgument, "it goes on");
  ExpectRefused(IdxImages(5, 4, 4), IdxLabels(5) + "x", kInvalidArgument, "after its last item");
}

TEST_F(IdxTest, GzipDataThatIsCutOffIsRefusedWhereverTheCutIs) {
  const std::string whole = Gzip(IdxImages(5, 4, 4));
  for (size_t bytes = 2; bytes < whole.size(); ++bytes) {
    const auto opened = Open(whole.substr(0, bytes), IdxLabels(5));
    ASSERT_TRUE(absl::IsDataLoss(opened.status())) << bytes << ": " << opened.status();
  }
}

TEST_F(IdxTest, GzipDataWithAWrongChecksumIsRefused) {
  std::string images = Gzip(IdxImages(5, 4, 4));
  images[images.size() - 6] ^= 1;

  ExpectRefused(images, IdxLabels(5), kDataLoss, "fails its checksum");
}

TEST_F(IdxTest, WhatFollowsAGzipMemberAndIsNoneIsRefused) {
  ExpectRefused(Gzip(IdxImages(5, 4, 4)) + "rubbish", IdxLabels(5), kDataLoss, "not gzip data");
}

TEST_F(IdxTest, WhatUnpacksToMoreThanAllowedIsRefusedBeforeItIsUnpacked) {
  temp_.Write("data/images", Gzip(IdxHeaderBytes({4'000'000'000, 2'000'000'000, 1})));
  temp_.Write("data/labels", IdxHeaderBytes({4'000'000'000}));  // contains no labels
  EXPECT_FALSE(Open().ok());
  temp_.Write("data/images", Gzip(IdxImages(5, 300, 300)));
  temp_.Write("data/labels", IdxLabels(5));

  const auto opened = Open(100'000);

  ASSERT_TRUE(absl::IsResourceExhausted(opened.status())) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("source.max_unpacked"));
}

TEST_F(IdxTest, AFileOutsideOfTheRootsIsRefused) {
  temp_.Write("elsewhere/images", IdxImages(5, 4, 4));
  temp_.Write("data/labels", IdxLabels(5));
  temp_.Link("data/images", temp_.At("elsewhere/images"));

  const auto opened = Open();

  EXPECT_TRUE(absl::IsPermissionDenied(opened.status())) << opened.status();
}

TEST_F(IdxTest, AFolderIsNoFile) {
  temp_.MakeFolder("data/images");
  temp_.Write("data/labels", IdxLabels(5));

  EXPECT_THAT(std::string(Open().status().message()), HasSubstr("not a regular file"));
}

TEST_F(IdxTest, AFileThatIsCutOffWhileItIsReadIsSaidAndNoSignal) {
  const auto dataset = Open(IdxImages(5'000, 28, 28), IdxLabels(5'000));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::filesystem::resize_file(temp_.At("data/images"), 20'000);

  EXPECT_THAT(Row(**dataset, 4'999), HasSubstr("and is 20000"));
  EXPECT_THAT(Row(**dataset, 0),
              HasSubstr("changed since it was indexed"));  // its page is still mapped
}

TEST_F(IdxTest, AFileThatIsWrittenToIsNotReadUntilItIsOpenedAnew) {
  const auto dataset = Open(IdxImages(5, 4, 4), IdxLabels(5));
  ASSERT_TRUE(dataset.ok());
  std::string other = IdxImages(5, 4, 4);
  other[20] ^= 1;
  const auto again = Open(other, IdxLabels(5));
  ASSERT_TRUE(again.ok());

  EXPECT_THAT(Row(**dataset, 0), HasSubstr("changed since it was indexed"));
  EXPECT_EQ(Row(**again, 0), other.substr(16, 16));
  EXPECT_NE((*dataset)->digest(), (*again)->digest());
}

// Like any missing file: the file server may come back with it.
TEST_F(IdxTest, AFileThatIsRemovedIsTroubleAndNoChange) {
  const auto dataset = Open(IdxImages(5, 4, 4), IdxLabels(5));
  ASSERT_TRUE(dataset.ok());
  std::filesystem::remove(temp_.At("data/images"));

  EXPECT_THAT(Row(**dataset, 3), HasSubstr("No such file"));
  EXPECT_FALSE((*dataset)->changed());
}

TEST_F(IdxTest, RowsShapeLabelsAndClassesAreTheFiles) {
  const auto dataset = Open(IdxImages(5, 4, 3), IdxLabels(5, 8));  // 0 3 6 1 4

  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->storage(), Storage::kRows);
  EXPECT_EQ((*dataset)->samples(), 5u);
  EXPECT_EQ(testing::ShapeOf(**dataset), (RowShape{4, 3, 1}));
  EXPECT_THAT((*dataset)->classes(), ElementsAre("0", "1", "2", "3", "4", "5", "6"));
  EXPECT_EQ((*dataset)->label(2), 6);
  EXPECT_THAT((*dataset)->path(2), HasSubstr("data/images#2"));
  EXPECT_EQ(Row(**dataset, 4), IdxImages(5, 4, 3).substr(16 + 4 * 12, 12));
}

TEST_F(IdxTest, AFourthDimensionIsTheChannels) {
  const auto dataset = Open(IdxHeaderBytes({2, 1, 2, 3}) + "abcdefghijkl", IdxLabels(2));

  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(testing::ShapeOf(**dataset), (RowShape{1, 2, 3}));
  EXPECT_EQ(Row(**dataset, 1), "ghijkl");
}

TEST_F(IdxTest, CompressedOrNotItIsTheSameDataset) {
  const auto plain = Open(IdxImages(5, 4, 4), IdxLabels(5));
  const auto packed = Open(Gzip(IdxImages(5, 4, 4)), Gzip(IdxLabels(5)));
  const std::string images = IdxImages(5, 4, 4);
  const auto members =
      Open(Gzip(images.substr(0, 40)) + Gzip(images.substr(40)), Gzip(IdxLabels(5)));

  ASSERT_TRUE(plain.ok() && packed.ok() && members.ok()) << members.status();
  EXPECT_EQ((*plain)->digest(), (*packed)->digest());
  EXPECT_EQ((*plain)->digest(), (*members)->digest());
  EXPECT_EQ(Row(**packed, 2), images.substr(48, 16));
}

TEST_F(IdxTest, TheStampChangesWithEitherFile) {
  const IdxOptions options = {.files = {temp_.At("data/images"), temp_.At("data/labels")},
                              .roots = {}};
  EXPECT_TRUE(absl::IsNotFound(IdxStamp(options).status()));
  ASSERT_TRUE(Open(IdxImages(5, 4, 4), IdxLabels(5)).ok());
  const std::string stamp = IdxStamp(options)->stamp;
  EXPECT_EQ(IdxStamp(options)->stamp, stamp);

  temp_.Write("data/labels", IdxLabels(4));

  EXPECT_NE(IdxStamp(options)->stamp, stamp);
}

}  // namespace
}  // namespace penstock::source
