// What a folder does when its files are removed, cut off or changed under it, or cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "server/store/cache/cache_folder.h"
#include "server/store/cache/cache_survey.h"

namespace penstock::store {
namespace {

constexpr ObjectId kObject = {1, 2};
constexpr uint64_t kPiece = 10'000, kPieces = 200, kSize = kPiece * kPieces;

class CacheMendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "mend-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    BeginAgain();
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  // As a later process.
  void BeginAgain() {
    mirror_.reset();
    folder_.reset();
    auto opened = CacheFolder::Open(path_, 1 << 30);
    ASSERT_TRUE(opened.ok()) << opened.status();
    folder_ = *std::move(opened);
    mirror_ = folder_->OpenMirror(kObject, kSize, "s3://a/b\nhttp://here", &trouble_);
  }
  static std::vector<std::byte> PieceAt(uint64_t i) {
    return std::vector<std::byte>(kPiece, std::byte(i + 1));
  }
  // As a fetch does it. Returns how many pieces had to be fetched.
  uint64_t Fetch() {
    uint64_t fetched = 0;
    EXPECT_TRUE(folder_->Revive().ok());
    for (uint64_t i = 0; i < kPieces; ++i) {
      std::vector<std::byte> into(kPiece);
      if (mirror_->Check(i * kPiece, into)) continue;
      EXPECT_TRUE(mirror_->TryKeep(i * kPiece, PieceAt(i)).ok());
      ++fetched;
    }
    return fetched;
  }
  uint64_t Held() {
    uint64_t held = 0;
    for (uint64_t i = 0; i < kPieces; ++i) {
      std::vector<std::byte> into(kPiece);
      held += mirror_->Read(i * kPiece, into) && into == PieceAt(i);
    }
    return held;
  }
  uint64_t Damaged() {
    uint64_t damaged = 0;
    const std::vector<CachedObject> objects =
        VerifyCache(path_, [](uint64_t) { return true; }).value();
    for (const CachedObject& object : objects) damaged += object.damaged;
    return damaged;
  }
  std::string FileOf(const std::string& ending) {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (entry.path().extension() == ending) return entry.path();
    return "";
  }
  void Flip(const std::string& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char old = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(~old));
  }
  // What is fetched after the harm was done, and that all is there then, also for a later process.
  uint64_t FetchAfter(const std::function<void()>& harm) {
    Fetch();
    harm();
    const uint64_t fetched = Fetch();
    EXPECT_EQ(Damaged(), 0u);
    EXPECT_EQ(Fetch(), 0u);
    BeginAgain();
    EXPECT_EQ(Held(), kPieces);
    return fetched;
  }

  std::string path_;
  std::unique_ptr<CacheFolder> folder_;
  std::shared_ptr<Mirror> mirror_;
  absl::Status trouble_;
};

TEST_F(CacheMendTest, AFetchFindsWhatWasChanged) {
  EXPECT_EQ(FetchAfter([&] { Flip(FileOf(".data"), 3 * kPiece + 5); }), 1u);
}

TEST_F(CacheMendTest, AFetchFindsWhatWasCutOff) {
  EXPECT_EQ(FetchAfter([&] { std::filesystem::resize_file(FileOf(".data"), 2 * kPiece); }),
            kPieces - 2);
}

TEST_F(CacheMendTest, AFetchMakesFilesAnewThatAreGone) {
  EXPECT_EQ(FetchAfter([&] { std::filesystem::remove(FileOf(".data")); }), kPieces);
  EXPECT_EQ(FetchAfter([&] {
              for (const auto& entry : std::filesystem::directory_iterator(path_))
                std::filesystem::remove(entry.path());
            }),
            kPieces);
}

TEST_F(CacheMendTest, AFetchMakesTheFolderAnew) {
  EXPECT_EQ(FetchAfter([&] { std::filesystem::remove_all(path_); }), kPieces);
  EXPECT_EQ(FetchAfter([&] { std::filesystem::rename(path_, path_ + "-away"); }), kPieces);
  std::filesystem::remove_all(path_ + "-away");
}

TEST_F(CacheMendTest, AnIndexThatIsGoneOrChangedIsWrittenAnewAndNothingIsFetched) {
  EXPECT_EQ(FetchAfter([&] { std::filesystem::remove(FileOf(".index")); }), 0u);
  ::usleep(20'000);  // a file's time is as exact as the kernel's clock
  EXPECT_EQ(FetchAfter([&] { Flip(FileOf(".index"), 40); }), 0u);
}

TEST_F(CacheMendTest, OneReadOfAFileThatWasCutOffForgetsAllThatIsGone) {
  Fetch();
  std::filesystem::resize_file(FileOf(".data"), 10);
  std::vector<std::byte> into(kPiece);
  EXPECT_FALSE(mirror_->Read(3 * kPiece, into));
  for (uint64_t i = 0; i < kPieces; ++i) EXPECT_FALSE(mirror_->Has(i * kPiece, kPiece)) << i;
  EXPECT_EQ(Damaged(), 0u);
}

TEST_F(CacheMendTest, WhatWasCutOffBetweenTwoProcessesIsNotTakenForKept) {
  Fetch();
  std::filesystem::resize_file(FileOf(".data"), 2 * kPiece);
  BeginAgain();
  for (uint64_t i = 0; i < kPieces; ++i) EXPECT_EQ(mirror_->Has(i * kPiece, kPiece), i < 2) << i;
  EXPECT_EQ(Damaged(), 0u);
}

TEST_F(CacheMendTest, WhatCannotBeWrittenIsSaidAndTriedAgain) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  // The header of the index, and half of a record.
  const rlimit small = {.rlim_cur = 48, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::byte> few(10, std::byte{7});
  const absl::Status torn = mirror_->TryKeep(0, few);
  const absl::Status full = mirror_->TryKeep(kPiece, PieceAt(1));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(torn.code(), absl::StatusCode::kResourceExhausted) << torn;
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_EQ(folder_->counts().no_room, 2u);
  EXPECT_TRUE(mirror_->TryKeep(kPiece, PieceAt(1)).ok());
  BeginAgain();
  EXPECT_TRUE(mirror_->Has(kPiece, kPiece));
}

TEST_F(CacheMendTest, FilesThatCannotBeUsedAreNamedAndTriedAgain) {
  const std::string data = FileOf(".data");
  std::filesystem::remove(data);
  std::filesystem::create_directory(data);
  BeginAgain();
  EXPECT_FALSE(trouble_.ok());
  const absl::Status kept = mirror_->TryKeep(0, PieceAt(0));
  EXPECT_THAT(kept.message(), ::testing::HasSubstr(".data'"));
  std::filesystem::remove(data);
  EXPECT_TRUE(mirror_->TryKeep(0, PieceAt(0)).ok());
}

TEST_F(CacheMendTest, TheListNamesTheStore) {
  const CachedObject object = SurveyCache(path_).value().at(0);
  EXPECT_EQ(object.url, "s3://a/b");
  EXPECT_EQ(object.endpoint, "http://here");
}

}  // namespace
}  // namespace penstock::store
