// What only folders have: the manifest's cache, and files that change.
#include "server/source/images/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "absl/strings/str_cat.h"
#include "server/source/images/manifest.h"
#include "server/source/images/scan.h"
#include "tests/support/files/manifest_version.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    temp_.Write("data/cats/one.jpg", "first");
    temp_.Write("data/dogs/two.jpg", "second");
  }

  FolderOptions Options() const {
    FolderOptions options;
    options.path = temp_.At("data");
    options.state_dir = temp_.At("state");
    options.threads = 2;
    return options;
  }
  OpenedFolder Open() const { return Open(Options()); }
  static OpenedFolder Open(const FolderOptions& options) {
    auto opened = OpenFolder(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  std::string CacheFile() const {
    for (const auto& entry : std::filesystem::directory_iterator(temp_.At("state/manifests")))
      return "state/manifests/" + entry.path().filename().string();
    return "";
  }
  static base::Fault FaultOf(const Dataset& dataset, uint64_t sample) {
    const auto opened = dataset.NewReader()->Open(sample);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? opened->fault : base::Fault::kNone;
  }
  // Sets the time of a file or folder to 2001, so that later changes are noticed.
  void Age(const std::string& relative) const { SetTime(relative, 1'000'000'000); }
  void SetTime(const std::string& relative, time_t seconds) const {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, temp_.At(relative).c_str(), times, 0), 0);
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(FolderTest, AMissingFolderIsNotFoundAndNamed) {
  FolderOptions options = Options();
  options.path = temp_.At("missing");

  const auto status = OpenFolder(options).status();

  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(temp_.At("missing")));
}

TEST_F(FolderTest, AFileIsNoFolder) {
  FolderOptions options = Options();
  options.path = temp_.At("data/cats/one.jpg");

  EXPECT_FALSE(OpenFolder(options).ok());
}

TEST_F(FolderTest, AFolderOutsideOfTheRootsIsRefused) {
  temp_.MakeFolder("roots");
  temp_.Link("roots/data", temp_.At("data"));
  FolderOptions options = Options();
  options.roots = {temp_.At("roots")};

  for (const std::string path : {"data", "roots/../data", "roots/data"}) {
    options.path = temp_.At(path);
    EXPECT_TRUE(absl::IsPermissionDenied(OpenFolder(options).status())) << path;
  }
}

TEST_F(FolderTest, EveryDamagedByteOfTheCacheIsNoticedAndTheCacheBuiltAnew) {
  const uint64_t digest = Open().dataset->digest();
  const std::string whole = temp_.Read(CacheFile());

  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 0x40;
    temp_.Write(CacheFile(), damaged);

    const OpenedFolder opened = Open();

    ASSERT_FALSE(opened.from_cache) << "byte " << at;
    ASSERT_EQ(opened.dataset->digest(), digest);
    ASSERT_EQ(temp_.Read(CacheFile()), whole) << "byte " << at;
  }
}

TEST_F(FolderTest, ACacheCutAnywhereIsBuiltAnewWithAWarning) {
  Open();
  const std::string whole = temp_.Read(CacheFile());

  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    temp_.Write(CacheFile(), whole.substr(0, bytes));
    const OpenedFolder opened = Open();
    ASSERT_FALSE(opened.from_cache) << bytes << " bytes";
    ASSERT_THAT(opened.warning, HasSubstr("indexed anew")) << bytes << " bytes";
  }
}

TEST_F(FolderTest, ACacheOfAnotherVersionIsBuiltAnewWithOneWarning) {
  Open();
  const std::string whole = temp_.Read(CacheFile());
  temp_.Write(CacheFile(), penstock::testing::WithManifestVersion(whole, kManifestVersion + 1));

  const OpenedFolder opened = Open();

  EXPECT_FALSE(opened.from_cache);
  EXPECT_THAT(opened.warning, AllOf(HasSubstr("version 3, wanted 2"), HasSubstr("indexed anew")));
  EXPECT_EQ(temp_.Read(CacheFile()), whole);
  EXPECT_THAT(Open().warning, IsEmpty());
}

TEST_F(FolderTest, AStateFolderThatCannotBeWrittenCostsAWarningAlone) {
  temp_.MakeFolder("state");
  std::filesystem::permissions(
      temp_.At("state"), std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  const penstock::testing::WithoutPrivileges nobody;

  const OpenedFolder opened = Open();

  EXPECT_THAT(opened.warning, AllOf(HasSubstr("not cached"), HasSubstr("Permission denied")));
  EXPECT_EQ(opened.dataset->samples(), 2u);
}

TEST_F(FolderTest, AFileInPlaceOfTheStateFolderCostsAWarningAlone) {
  temp_.Write("state", "in the way");

  EXPECT_THAT(Open().warning, HasSubstr("not cached"));
}

TEST_F(FolderTest, AFullStateFolderCostsAWarningAlone) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
  FolderOptions options = Options();
  options.state_dir = "/dev/full";  // nothing can be created in it

  EXPECT_THAT(Open(options).warning, HasSubstr("not cached"));
}

TEST_F(FolderTest, AChangedFileIsNotReadAndTheNextOpeningIndexesAnew) {
  const OpenedFolder opened = Open();
  temp_.Write("data/cats/one.jpg", "longer than before");

  const absl::Status changed = opened.dataset->NewReader()->Open(0).status();
  EXPECT_TRUE(absl::IsDataLoss(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()),
              AllOf(HasSubstr("cats/one.jpg"), HasSubstr("its size was 5 and is 18")));
  EXPECT_EQ(FaultOf(*opened.dataset, 1), base::Fault::kNone);

  const OpenedFolder again = Open();
  EXPECT_FALSE(again.from_cache);
  EXPECT_EQ(FaultOf(*again.dataset, 0), base::Fault::kNone);
  EXPECT_NE(again.dataset->digest(), opened.dataset->digest());
}

TEST_F(FolderTest, AFileOfAnotherTimeIsNotReadThoughItsSizeIsTheSame) {
  Age("data/cats/one.jpg");
  const OpenedFolder opened = Open();

  SetTime("data/cats/one.jpg", 1'000'000'001);

  EXPECT_TRUE(absl::IsDataLoss(opened.dataset->NewReader()->Open(0).status()));
}

TEST_F(FolderTest, TheIdentityIsOfTheVeryFilesAndNotOfWhatTheyLookLike) {
  for (const char* file : {"data/cats/one.jpg", "data/dogs/two.jpg"}) Age(file);
  const OpenedFolder opened = Open();
  EXPECT_EQ(Open().identity, opened.identity);
  std::filesystem::copy(temp_.At("data"), temp_.At("copy"),
                        std::filesystem::copy_options::recursive);
  for (const char* file : {"copy/cats/one.jpg", "copy/dogs/two.jpg"}) Age(file);
  FolderOptions copy = Options();
  copy.path = temp_.At("copy");

  EXPECT_EQ(Open(copy).dataset->digest(), opened.dataset->digest());
  EXPECT_NE(Open(copy).identity, opened.identity);
}

TEST_F(FolderTest, AFileThatWasOverwrittenIsIndexedAnewThoughAllTimesWerePutBack) {
  for (const char* path :
       {"data/cats/one.jpg", "data/dogs/two.jpg", "data/cats", "data/dogs", "data"})
    Age(path);
  const OpenedFolder before = Open();
  ASSERT_TRUE(Open().from_cache);

  temp_.Write("data/cats/one.jpg", "other");
  Age("data/cats/one.jpg");

  const OpenedFolder after = Open();
  EXPECT_FALSE(after.from_cache);
  EXPECT_NE(after.identity, before.identity);
  EXPECT_EQ(FaultOf(*after.dataset, 0), base::Fault::kNone);
}

TEST_F(FolderTest, ASocketOrADeviceWithAnImagesNameIsAFaultAndIsNotOpened) {
  const std::string path = temp_.At("data/cats/socket.jpg");
  ASSERT_EQ(::mknod(path.c_str(), S_IFSOCK | 0600, 0), 0);

  const OpenedFolder opened = Open();

  EXPECT_EQ(opened.dataset->samples(), 3u);
  EXPECT_EQ(FaultOf(*opened.dataset, 0), base::Fault::kNone);
  EXPECT_EQ(FaultOf(*opened.dataset, 1), base::Fault::kNotAnImage);
  EXPECT_TRUE(Open().from_cache);
}

TEST_F(FolderTest, AFileThatBecomesASocketChangedAndIsNoTroubleToTryAgain) {
  const OpenedFolder opened = Open();
  std::filesystem::remove(temp_.At("data/cats/one.jpg"));
  ASSERT_EQ(::mknod(temp_.At("data/cats/one.jpg").c_str(), S_IFSOCK | 0600, 0), 0);

  const absl::Status changed = opened.dataset->NewReader()->Open(0).status();

  EXPECT_TRUE(absl::IsDataLoss(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()), HasSubstr("regular file"));
}

TEST_F(FolderTest, AFifoWithAnImagesNameIsAFaultAndHoldsNobody) {
  ASSERT_EQ(::mkfifo(temp_.At("data/cats/pipe.jpg").c_str(), 0600), 0);

  EXPECT_EQ(FaultOf(*Open().dataset, 1), base::Fault::kNotAnImage);
}

TEST_F(FolderTest, ASampleThatBecomesALinkOutOfTheRootsIsNotRead) {
  temp_.Write("secret.jpg", "first");
  const OpenedFolder opened = Open();
  std::filesystem::remove(temp_.At("data/cats/one.jpg"));
  temp_.Link("data/cats/one.jpg", temp_.At("secret.jpg"));

  EXPECT_TRUE(absl::IsPermissionDenied(opened.dataset->NewReader()->Open(0).status()));
}

TEST_F(FolderTest, AddedRemovedAndRenamedFilesAreNoticed) {
  Open();
  ASSERT_TRUE(Open().from_cache);

  temp_.Write("data/cats/three.jpg", "x");
  EXPECT_FALSE(Open().from_cache);
  std::filesystem::remove(temp_.At("data/dogs/two.jpg"));
  temp_.Write("data/dogs/four.jpg", "x");
  EXPECT_FALSE(Open().from_cache);
  std::filesystem::rename(temp_.At("data/cats/one.jpg"), temp_.At("data/cats/1.jpg"));
  const OpenedFolder last = Open();
  EXPECT_FALSE(last.from_cache);
  EXPECT_THAT(last.dataset->path(0), HasSubstr("cats/1.jpg"));
  EXPECT_TRUE(Open().from_cache);
}

TEST_F(FolderTest, AnAddedFileIsNoticedByTheCountThoughTheFoldersTimeIsPutBack) {
  Age("data/cats");
  Open();
  temp_.Write("data/cats/three.jpg", "x");
  Age("data/cats");

  EXPECT_FALSE(Open().from_cache);
}

TEST_F(FolderTest, ANewClassIsNoticed) {
  Open();
  temp_.Write("data/birds/three.jpg", "x");

  const OpenedFolder opened = Open();

  EXPECT_FALSE(opened.from_cache);
  EXPECT_THAT(opened.dataset->classes(), ::testing::ElementsAre("birds", "cats", "dogs"));
}

TEST_F(FolderTest, TheCacheGivesWhatIndexingGave) {
  const OpenedFolder built = Open();
  const OpenedFolder cached = Open();

  EXPECT_FALSE(built.from_cache);
  EXPECT_TRUE(cached.from_cache);
  EXPECT_THAT(built.warning, IsEmpty());
  EXPECT_THAT(cached.warning, IsEmpty());
  EXPECT_EQ(built.dataset->digest(), cached.dataset->digest());
  EXPECT_EQ(built.dataset->classes(), cached.dataset->classes());
  for (uint64_t i = 0; i < 2; ++i) EXPECT_EQ(built.dataset->path(i), cached.dataset->path(i));
}

TEST_F(FolderTest, RebuildingIsDoneWhenAsked) {
  Open();
  FolderOptions options = Options();
  options.cache = CacheUse::kRebuild;

  EXPECT_FALSE(Open(options).from_cache);
}

TEST_F(FolderTest, WithoutAStateFolderNothingIsCached) {
  FolderOptions options = Options();
  options.state_dir.clear();

  EXPECT_THAT(Open(options).warning, IsEmpty());
  EXPECT_FALSE(Open(options).from_cache);
}

TEST_F(FolderTest, TheDigestIsOfPathsSizesAndLabelsButNotOfTimesOrPlace) {
  const uint64_t digest = Open().dataset->digest();
  std::filesystem::copy(temp_.At("data"), temp_.At("copy"),
                        std::filesystem::copy_options::recursive);
  SetTime("copy/cats/one.jpg", 1);
  FolderOptions copy = Options();
  copy.path = temp_.At("copy");
  copy.state_dir.clear();

  EXPECT_EQ(Open(copy).dataset->digest(), digest);

  temp_.Write("copy/cats/one.jpg", "first!");
  EXPECT_NE(Open(copy).dataset->digest(), digest);
  temp_.Write("copy/cats/one.jpg", "first");
  std::filesystem::rename(temp_.At("copy/cats"), temp_.At("copy/kats"));
  EXPECT_NE(Open(copy).dataset->digest(), digest);
}

TEST_F(FolderTest, AManifestTakesSixteenBytesAndTheNameASample) {
  for (int i = 1000; i < 1200; ++i) temp_.Write("data/cats/" + std::to_string(i) + ".jpg", "x");
  Open();

  const size_t bytes = std::filesystem::file_size(temp_.At(CacheFile()));

  const size_t folders = 3 * sizeof(FolderRecord) + temp_.At("data").size() + 8;
  EXPECT_EQ(bytes, sizeof(ManifestHeader) + folders + 16 + 2 * (16 + 7) + 200 * (16 + 8));
}

TEST_F(FolderTest, PathsForPeopleAreValidUtf8) {
  temp_.Write("data/cats/caf\xe9.jpg", "x");

  EXPECT_THAT(Open().dataset->path(0), HasSubstr("cats/caf\\xe9.jpg"));
}

TEST_F(FolderTest, AReaderOutlivesItsDataset) {
  OpenedFolder opened = Open();
  const auto reader = opened.dataset->NewReader();
  opened.dataset.reset();

  EXPECT_EQ(reader->Open(0)->bytes, 5u);
}

// 600 files and 30 links, which stand for 666,600 samples.
TEST_F(FolderTest, FilesThatLinksMultiplyAreCountedBeforeTheyFillTheMemory) {
  for (int i = 0; i < 600; ++i) temp_.Write(absl::StrCat("links/c/f/", i, ".jpg"), "");
  for (int i = 0; i < 30; ++i)
    temp_.Link(absl::StrCat("links/c/", i / 10, "/", i % 10),
               i < 10 ? temp_.At("links/c/f") : temp_.At(absl::StrCat("links/c/", i / 10 - 1)));
  const std::string folder = temp_.At("links");
  const auto tree = Tree::Open(folder, {folder});
  ASSERT_TRUE(tree.ok()) << tree.status();
  const auto scan_with = [&](uint64_t available) {
    IndexMemory memory([available] { return available; });
    return ScanDataset(*tree, {.threads = 2, .progress = {}, .memory = &memory}).status();
  };
  EXPECT_TRUE(scan_with(uint64_t{1} << 40).ok());

  const absl::Status refused = scan_with(2 << 20);

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(folder + "': opening its dataset takes"));
}

}  // namespace
}  // namespace penstock::source
