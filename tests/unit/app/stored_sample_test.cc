// Bad samples as they are stored, of each kind of dataset; and what is at their files' place by
// then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "server/app/operator/bad_sample_pictures.h"
#include "server/source/images/folder.h"
#include "server/source/images/remote_folder.h"
#include "server/source/parse/directly.h"
#include "server/source/tar/tar.h"
#include "server/source/tfrecord/tfrecord.h"
#include "tests/support/files/record_maker.h"
#include "tests/support/files/store_in_folder.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kStored = "\xff\xd8\xff, as long as it is";

// What is at the place of a file that was indexed.
class StoredSampleTest : public ::testing::Test {
 protected:
  StoredSampleTest() {
    folder_.Write("photographs/a/0.jpg", kStored);
    folder_.Write("photographs/a/1.jpg", "");
    std::filesystem::create_directories(folder_.At("photographs/b"));
    ::mkfifo(folder_.At("photographs/b/2.jpg").c_str(), 0600);
    std::ofstream(folder_.At("photographs/b/3.jpg")) << kStored;
    std::filesystem::resize_file(folder_.At("photographs/b/3.jpg"), status::kMostPictureBytes + 1);
    auto opened =
        source::OpenFolder({.path = folder_.At("photographs"), .roots = {}, .state_dir = ""});
    dataset_ = std::move(opened.value().dataset);
  }
  absl::Status WhyNot(uint64_t sample) { return ReadStoredSample(*dataset_, sample).status(); }

  testing::TempFolder folder_;
  std::unique_ptr<source::Dataset> dataset_;
};

TEST_F(StoredSampleTest, AFileIsReadWhole) { EXPECT_EQ(*ReadStoredSample(*dataset_, 0), kStored); }

TEST_F(StoredSampleTest, WhatIsEmptyAFifoOrTooLargeIsNotRead) {
  EXPECT_EQ(WhyNot(1).message(), "there are no bytes to show: empty");
  EXPECT_EQ(WhyNot(2).message(), "there are no bytes to show: not an image");
  EXPECT_EQ(WhyNot(3).message(), "larger than 8 MiB: it has 8388609 bytes");
}

TEST_F(StoredSampleTest, AFileThatChangedIsNotShownForTheOneThatWasBad) {
  folder_.Write("photographs/a/0.jpg", "\xff\xd8\xff and something else");

  const absl::Status why = WhyNot(0);

  EXPECT_TRUE(absl::IsNotFound(why));
  EXPECT_THAT(std::string(why.message()),
              AllOf(HasSubstr("0.jpg' changed since it was indexed"), HasSubstr("its size was")));
}

TEST_F(StoredSampleTest, AFifoInTheFilesPlaceHoldsUpNobody) {
  std::filesystem::remove(folder_.At("photographs/a/0.jpg"));
  ASSERT_EQ(::mkfifo(folder_.At("photographs/a/0.jpg").c_str(), 0600), 0);

  EXPECT_THAT(std::string(WhyNot(0).message()), HasSubstr("it was a regular file and is not"));
}

TEST_F(StoredSampleTest, ALinkInTheFilesPlaceLeadsNowhereElse) {
  std::filesystem::remove(folder_.At("photographs/a/0.jpg"));
  folder_.Write("elsewhere.jpg", kStored);
  folder_.Link("photographs/a/0.jpg", folder_.At("elsewhere.jpg"));

  EXPECT_THAT(std::string(WhyNot(0).message()), StartsWith("cannot be read: "));
}

class StoredKindTest : public ::testing::Test {
 protected:
  source::ShardOptions Shards(const std::string& file) {
    source::ShardOptions options;
    options.spec.shards = {folder_.At(file)};
    return options;
  }

  testing::TempFolder folder_;
};

TEST_F(StoredKindTest, OfATarFileItIsTheMember) {
  folder_.Write("x.tar", testing::TarFile("a.jpg", "first") + testing::TarFile("b.jpg", kStored) +
                             testing::TarEnd());
  const auto opened = source::OpenTar(Shards("x.tar"), source::DirectParsers());
  ASSERT_TRUE(opened.ok()) << opened.status();

  EXPECT_TRUE(opened->dataset->extent(1).has_value());
  EXPECT_EQ(*ReadStoredSample(*opened->dataset, 1), kStored);
}

TEST_F(StoredKindTest, OfAStoreItIsTheObject) {
  testing::StoreInFolder store;
  folder_.Write("data/a/0.jpg", "first");
  folder_.Write("data/b/1.jpg", kStored);
  const auto opened = source::OpenRemoteFolder(
      {.url = store.UrlOf(folder_.At("data/")), .remote = &store, .state_dir = ""});
  ASSERT_TRUE(opened.ok()) << opened.status();

  EXPECT_TRUE(opened->dataset->extent(1).has_value());
  EXPECT_EQ(*ReadStoredSample(*opened->dataset, 1), kStored);
}

TEST_F(StoredKindTest, OfARecordItIsRefusedAsOnlyWorkersUnpackIt) {
  folder_.Write("x.tfrecord", testing::ImageRecord(kStored, 1));
  const auto opened = source::OpenRecords(Shards("x.tfrecord"), source::DirectParsers());
  ASSERT_TRUE(opened.ok()) << opened.status();

  EXPECT_FALSE(opened->dataset->extent(0).has_value());
  EXPECT_EQ(ReadStoredSample(*opened->dataset, 0).status().message(),
            "the image is packed in a record, which only workers unpack");
}

}  // namespace
}  // namespace penstock::app
