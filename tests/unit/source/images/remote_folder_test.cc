// Folders of photographs in an object store: the same dataset as the same files on a disk.
#include "server/source/images/remote_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/source/images/folder.h"
#include "tests/support/files/store_in_folder.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RemoteFolderTest : public ::testing::Test {
 protected:
  RemoteFolderTest() {
    temp_.Write("data/dogs/two.JPG", "second");
    temp_.Write("data/cats/z/one.jpg", "below");
    temp_.Write("data/cats/three.png", "three");
    temp_.Write("data/cats/empty.jpg", "");
    temp_.Write("data/cats/notes.txt", "no image");
    temp_.Write("data/loose.jpg", "beside the classes");
    temp_.Write("data/cats-and-dogs/x.jpg", "both");
  }

  absl::StatusOr<OpenedFolder> Open() {
    return OpenRemoteFolder({.url = store_.UrlOf(temp_.At("data/")),
                             .remote = &store_,
                             .state_dir = temp_.At("state"),
                             .threads = 3});
  }
  std::string Refusal() { return std::string(Open().status().message()); }
  std::unique_ptr<Dataset> OpenLocal() {
    FolderOptions options;
    options.path = temp_.At("data");
    auto opened = OpenFolder(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::move(opened->dataset);
  }
  static absl::StatusOr<std::string> Read(const Dataset& dataset, uint64_t sample) {
    const std::unique_ptr<Dataset::Reader> reader = dataset.NewReader();
    PENSTOCK_ASSIGN_OR_RETURN(const Dataset::Reader::Opened opened, reader->Open(sample));
    if (opened.fault != base::Fault::kNone) return std::string(base::FaultName(opened.fault));
    std::string text(opened.bytes, '\0');
    PENSTOCK_RETURN_IF_ERROR(
        reader->Read({reinterpret_cast<std::byte*>(text.data()), text.size()}));
    return text;
  }

  penstock::testing::TempFolder temp_;
  penstock::testing::StoreInFolder store_;
};

TEST_F(RemoteFolderTest, HasTheSamplesOfTheSameFolderOnADisk) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Dataset& remote = *opened->dataset;
  const auto local = OpenLocal();

  EXPECT_EQ(remote.digest(), local->digest());
  EXPECT_EQ(remote.classes(), local->classes());
  ASSERT_EQ(remote.samples(), local->samples());
  for (uint64_t i = 0; i < remote.samples(); ++i) {
    EXPECT_EQ(remote.label(i), local->label(i));
    EXPECT_EQ(Read(remote, i).value(), Read(*local, i).value());
    EXPECT_EQ(remote.path(i), "s3://bucket" + local->path(i));
  }
  for (uint64_t i = 0; i < remote.content_pieces(); ++i) {
    Sha256 one, other;
    ASSERT_TRUE(remote.AddContent(i, one).ok() && local->AddContent(i, other).ok());
    EXPECT_EQ(ToHex(one.Finish()), ToHex(other.Finish()));
  }
}

TEST_F(RemoteFolderTest, AnUnchangedFolderKeepsItsIndexAndAChangedOneGetsAnother) {
  const std::string first = Open()->identity;

  const auto again = Open();
  EXPECT_TRUE(again->from_cache);
  EXPECT_EQ(again->identity, first);

  temp_.Write("data/dogs/new.jpg", "third");
  const auto later = Open();
  EXPECT_FALSE(later->from_cache);
  EXPECT_NE(later->identity, first);
  EXPECT_EQ(later->dataset->samples(), again->dataset->samples() + 1);
}

TEST_F(RemoteFolderTest, ChangedAndMissingFilesAreErrorsWithTheirNames) {
  const auto opened = Open();
  const Dataset& dataset = *opened->dataset;
  const uint64_t last = dataset.samples() - 1;

  temp_.Write("data/dogs/two.JPG", "SECOND");
  const absl::Status changed = Read(dataset, last).status();
  EXPECT_TRUE(absl::IsDataLoss(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()), HasSubstr("dogs/two.JPG"));
  EXPECT_TRUE(dataset.changed());

  std::filesystem::remove(temp_.At("data/dogs/two.JPG"));
  const absl::Status missing = Read(dataset, last).status();
  EXPECT_TRUE(absl::IsDataLoss(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("dogs/two.JPG"));
}

TEST_F(RemoteFolderTest, WhileTheStoreIsAwayTheLastListingCounts) {
  store_.trouble = absl::UnavailableError("no connection");
  EXPECT_TRUE(absl::IsUnavailable(Open().status())) << "nothing is known yet";
  store_.trouble = absl::OkStatus();
  const std::string first = Open()->identity;

  store_.trouble = absl::UnavailableError("no connection");
  const auto away = Open();
  ASSERT_TRUE(away.ok()) << away.status();
  EXPECT_EQ(away->identity, first);
  EXPECT_THAT(away->warning, AllOf(HasSubstr("could not be listed"), HasSubstr("no connection")));
  EXPECT_EQ(Read(*away->dataset, 0).value(), "empty");

  store_.trouble = absl::PermissionDeniedError("not yours");
  EXPECT_TRUE(absl::IsPermissionDenied(Open().status()));
}

TEST_F(RemoteFolderTest, TheIndexOfAnotherStoreIsNotUsed) {
  const std::string first = Open()->identity;
  store_.number = 8;
  store_.trouble = absl::UnavailableError("no connection");
  EXPECT_TRUE(absl::IsUnavailable(Open().status()));

  store_.trouble = absl::OkStatus();
  const auto other = Open();
  EXPECT_FALSE(other->from_cache);
  EXPECT_NE(other->identity, first);
}

TEST_F(RemoteFolderTest, FoldersWithoutSamplesAreRefused) {
  std::filesystem::remove(temp_.At("data/dogs/two.JPG"));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("class folders dogs"), HasSubstr("s3://bucket")));

  for (const char* const name : {"dogs", "cats", "cats-and-dogs"})
    std::filesystem::remove_all(temp_.At("data/") + name);
  EXPECT_THAT(Refusal(), HasSubstr("has no class folders"));
}

// One whose listings name a file twice.
class DoublingStore : public penstock::testing::StoreInFolder {
 public:
  absl::Status ListPages(const std::string& folder, Depth depth, const TakePage& take) override {
    return StoreInFolder::ListPages(folder, depth, [&](std::vector<RemoteEntry> page) {
      if (depth == Depth::kAll && !page.empty()) page.push_back(page.front());
      return take(std::move(page));
    });
  }
};

TEST_F(RemoteFolderTest, AListingThatNamesAFileTwiceIsRefused) {
  DoublingStore store;
  const auto opened =
      OpenRemoteFolder({.url = store.UrlOf(temp_.At("data/")), .remote = &store, .state_dir = ""});
  EXPECT_TRUE(absl::IsDataLoss(opened.status()));
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("twice"));
}

TEST_F(RemoteFolderTest, AListingThatNobodyWaitsForEnds) {
  RemoteFolderOptions options;
  options.url = store_.UrlOf(temp_.At("data/"));
  options.remote = &store_;
  options.progress = [](const ScanProgress&) { return false; };
  EXPECT_TRUE(absl::IsCancelled(OpenRemoteFolder(options).status()));
}

}  // namespace
}  // namespace penstock::source
