// What comes back from the files after a restart, and what storage that fails changes.
#include "server/checkpoints/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/files/temp_folder.h"
#include "tests/unit/checkpoints/taken.h"

namespace penstock::checkpoints {
namespace {

using testing::TempFolder;

constexpr uint64_t kSamples = 20 * kBlockSamples;
constexpr ShelfKey kKey = {.user = 1, .dataset = 0xABC, .samples = kSamples};

class CheckpointFilesTest : public ::testing::Test {
 protected:
  // A store with its files, until End.
  void Begin(uint64_t max_bytes = uint64_t{1} << 20) {
    store_ = std::make_shared<CheckpointStore>(max_bytes);
    options_.even_in_memory = true;
    files_ = std::make_unique<CheckpointFiles>(store_, options_);
  }
  void End() {
    files_.reset();
    store_.reset();
  }
  static void Put(CheckpointShelf& shelf, uint64_t sample, const std::string& text) {
    shelf.Put(sample, std::as_bytes(std::span(text)));
  }
  // Whether the sample has this text within some seconds.
  static bool Comes(const CheckpointShelf& shelf, uint64_t sample, const std::string& text) {
    for (int i = 0; i < 1000 && Taken(shelf, sample) != text; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Taken(shelf, sample) == text;
  }
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> paths;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder, missing))
      paths.push_back(entry.path());
    return paths;
  }

  TempFolder folder_;
  CheckpointFiles::Options options_ = {.folder = folder_.At("state/checkpoints"), .keep_free = 0};
  std::shared_ptr<CheckpointStore> store_;
  std::unique_ptr<CheckpointFiles> files_;
};

TEST_F(CheckpointFilesTest, WhatWasPutComesBackAfterARestart) {
  Begin();
  {
    const auto shelf = store_->Open(kKey);
    for (const uint64_t sample : {uint64_t{0}, uint64_t{70}, kSamples - 1})
      Put(*shelf, sample, "of " + std::to_string(sample));
  }
  End();
  Begin();
  const auto shelf = store_->Open(kKey);
  EXPECT_TRUE(Comes(*shelf, kSamples - 1, "of " + std::to_string(kSamples - 1)));
  EXPECT_EQ(Taken(*shelf, 0), "of 0");
  EXPECT_EQ(Taken(*shelf, 70), "of 70");
  EXPECT_EQ(Taken(*shelf, 1), "");
  EXPECT_EQ(Taken(*shelf, 640), "");
  struct stat facts {};
  ASSERT_EQ(::stat(Files().front().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(CheckpointFilesTest, WhatIsNewerInMemoryStays) {
  Begin();
  Put(*store_->Open(kKey), 3, "old");
  End();
  store_ = std::make_shared<CheckpointStore>(uint64_t{1} << 20);
  const auto shelf = store_->Open(kKey);
  Put(*shelf, 3, "new");
  Put(*shelf, 4, "also new");
  files_ = std::make_unique<CheckpointFiles>(store_, options_);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(Taken(*shelf, 3), "new");
  EXPECT_EQ(Taken(*shelf, 4), "also new");
}

TEST_F(CheckpointFilesTest, ChangesAreWrittenWhileTheStoreIsInUse) {
  options_.write_every = std::chrono::milliseconds(20);
  Begin();
  const auto shelf = store_->Open(kKey);
  Put(*shelf, 3, "x");
  for (int i = 0; i < 1000 && Files().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(Files().size(), 1u);
}

TEST_F(CheckpointFilesTest, AnotherUsersAndAnotherDatasetsAreSeparate) {
  Begin();
  Put(*store_->Open(kKey), 3, "x");
  End();
  Begin();
  ShelfKey other = kKey;
  other.user = 2;
  const auto of_another = store_->Open(other);
  other = kKey;
  ++other.dataset;
  const auto of_other_data = store_->Open(other);
  ASSERT_TRUE(Comes(*store_->Open(kKey), 3, "x"));
  EXPECT_EQ(Taken(*of_another, 3), "");
  EXPECT_EQ(Taken(*of_other_data, 3), "");
}

TEST_F(CheckpointFilesTest, DamagedAndTruncatedFilesHarmNothing) {
  Begin();
  {
    const auto shelf = store_->Open(kKey);
    for (uint64_t sample = 0; sample < kSamples; ++sample) Put(*shelf, sample, "x");
  }
  End();
  const std::filesystem::path file = Files().front();
  const auto full = std::filesystem::file_size(file);
  for (const uint64_t size :
       {full - 10, uint64_t{5000}, uint64_t{4096}, uint64_t{20}, uint64_t{0}}) {
    std::filesystem::resize_file(file, size);
    Begin();
    const auto shelf = store_->Open(kKey);
    Put(*shelf, 100, "y");
    EXPECT_TRUE(Comes(*shelf, 100, "y"));
    End();
  }
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(4096);  // the lengths of the first block
    for (uint64_t i = 0; i < kBlockSamples; ++i) bytes.write("\xFF\xFF", 2);
  }
  Begin();
  const auto shelf = store_->Open(kKey);
  EXPECT_TRUE(Comes(*shelf, 100, "y"));
  EXPECT_EQ(Taken(*shelf, 0), "");  // longer than its room
}

TEST_F(CheckpointFilesTest, WhatIsNoFileAtAFilesPlaceHoldsUpNothing) {
  Begin();
  Put(*store_->Open(kKey), 3, "x");
  End();
  const std::filesystem::path file = Files().front();
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  Begin();
  const auto shelf = store_->Open(kKey);
  Put(*shelf, 100, "y");
  EXPECT_TRUE(Comes(*shelf, 100, "y"));
  End();  // would wait for somebody at the other end
  EXPECT_TRUE(std::filesystem::is_fifo(file));
}

TEST_F(CheckpointFilesTest, AllFilesTogetherAreBounded) {
  constexpr uint64_t kMost = 400'000;
  for (uint64_t dataset = 0; dataset < 6; ++dataset) {
    Begin(kMost);
    ShelfKey key = kKey;
    key.dataset = dataset;
    const auto shelf = store_->Open(key);
    for (uint64_t sample = 0; sample < kSamples; ++sample) Put(*shelf, sample, "x");
    End();
    uint64_t bytes = 0;
    for (const auto& path : Files()) {
      struct stat facts {};
      ASSERT_EQ(::stat(path.c_str(), &facts), 0);
      bytes += static_cast<uint64_t>(facts.st_blocks) * 512;
    }
    EXPECT_LE(bytes, kMost * 5 / 4);
    EXPECT_GT(bytes, 0u);
  }
}

TEST_F(CheckpointFilesTest, AFolderThatCannotBeWrittenCostsOnlyTheFiles) {
  folder_.Write("file", "");
  options_.folder = folder_.At("file/checkpoints");
  Begin();
  const auto shelf = store_->Open(kKey);
  Put(*shelf, 3, "x");
  EXPECT_EQ(Taken(*shelf, 3), "x");
  End();
}

TEST_F(CheckpointFilesTest, NothingIsWrittenWhereLittleSpaceIsLeft) {
  options_.keep_free = UINT64_MAX;
  Begin();
  Put(*store_->Open(kKey), 3, "x");
  End();
  EXPECT_TRUE(Files().empty());
}

TEST_F(CheckpointFilesTest, NothingIsWrittenToMemory) {
  options_.folder = "/dev/shm/penstock-checkpoints-" + std::to_string(::getpid());
  store_ = std::make_shared<CheckpointStore>(uint64_t{1} << 20);
  files_ = std::make_unique<CheckpointFiles>(store_, options_);
  Put(*store_->Open(kKey), 3, "x");
  End();
  EXPECT_TRUE(Files().empty());
  std::filesystem::remove(options_.folder);
}

}  // namespace
}  // namespace penstock::checkpoints
