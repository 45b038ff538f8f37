// Rows in a folder: they come back, or are refused and decoded again, whatever its disk does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "server/kept/row_store.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::kept {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPartBytes = 3000, kFieldBytes = 17;
constexpr uint64_t kBytesOfRow = kPartBytes + kFieldBytes, kRoomOfRow = 4096;

struct TwoParts {
  explicit TwoParts(uint64_t sample)
      : image(kPartBytes, static_cast<std::byte>(sample)),
        field(kFieldBytes, static_cast<std::byte>(sample + 1)) {}
  RowParts parts() { return {std::span(image), std::span(field)}; }
  bool operator==(const TwoParts&) const = default;
  std::vector<std::byte> image, field;
};

class RowFolderTest : public ::testing::Test {
 protected:
  void Begin(const KeptRowStore::Options& options) {
    store_ = std::make_shared<KeptRowStore>(options);
    shelf_ = store_->Open({.user = 1, .files = 1, .rows = 1});
  }
  void PutFirst(uint64_t count) {
    for (uint64_t sample = 0; sample < count; ++sample) {
      TwoParts row(sample);
      shelf_->Put(sample, row.parts());
    }
  }
  // Waits until no row is on its way to the folder.
  bool Settles(uint64_t kept, uint64_t refused = 0) {
    for (int i = 0; i < 1000; ++i) {
      uint64_t found = 0;
      for (uint64_t sample = 0; sample < 20; ++sample) found += shelf_->Find(sample).has_value();
      if (found == kept && store_->counts().refused >= refused) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool ComesBack(uint64_t sample) {
    TwoParts row(99);
    return shelf_->Take(sample, row.parts()) && row == TwoParts(sample);
  }
  // The files without a name, as anybody with the daemon's rights could open them.
  std::vector<std::string> PathsOfFiles() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code none;
      const std::string target = fs::read_symlink(entry.path(), none).string();
      if (target.starts_with(folder_.At("kept/"))) paths.push_back(entry.path());
    }
    return paths;
  }
  std::string PathOfFile() const { return PathsOfFiles().at(0); }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const std::string& path : PathsOfFiles()) {
      struct stat facts {};
      EXPECT_EQ(::stat(path.c_str(), &facts), 0);
      bytes += static_cast<uint64_t>(facts.st_blocks) * 512;
    }
    return bytes;
  }

  testing::TempFolder folder_;
  std::shared_ptr<KeptRowStore> store_;
  std::shared_ptr<RowShelf> shelf_;
};

TEST_F(RowFolderTest, TakesWhatMemoryHasNoRoomForAndLeavesNothing) {
  fs::create_directory(folder_.At("kept"));
  Begin({.memory = 2 * kBytesOfRow, .folder = folder_.At("kept"), .folder_max = 1 << 20});
  PutFirst(7);
  ASSERT_TRUE(Settles(7));
  for (uint64_t sample = 0; sample < 7; ++sample) {
    EXPECT_TRUE(ComesBack(sample)) << sample;
    EXPECT_EQ(*shelf_->Find(sample), sample < 2 ? Medium::kMemory : Medium::kFolder);
  }
  EXPECT_EQ(store_->counts().folder_bytes, 5 * kRoomOfRow);
  EXPECT_EQ(store_->counts().served, 7u);
  EXPECT_TRUE(fs::is_empty(folder_.At("kept")));
}

TEST_F(RowFolderTest, MayBeAllThereIs) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = 3 * kRoomOfRow});
  PutFirst(5);
  ASSERT_TRUE(Settles(3, 2));
  EXPECT_TRUE(ComesBack(0));
  EXPECT_FALSE(ComesBack(4));
}

TEST_F(RowFolderTest, PlacesOfForgottenRowsAreUsedAgain) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = 4 * kRoomOfRow});
  PutFirst(4);
  ASSERT_TRUE(Settles(4));
  for (uint64_t sample = 0; sample < 4; ++sample) store_->Forget(1, sample);
  EXPECT_EQ(store_->counts().folder_bytes, 0u);
  PutFirst(4);
  ASSERT_TRUE(Settles(4));
  EXPECT_LE(BytesOnDisk(), 5 * kRoomOfRow);
  for (uint64_t sample = 0; sample < 4; ++sample) EXPECT_TRUE(ComesBack(sample));
}

TEST_F(RowFolderTest, ADroppedRowsRoomIsTheDisksBeforeAnotherIsWritten) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = 16 * kRoomOfRow});
  PutFirst(16);
  ASSERT_TRUE(Settles(16));

  shelf_ = store_->Open({.user = 1, .files = 1, .rows = 2});  // nobody uses the first ones
  PutFirst(12);
  ASSERT_TRUE(Settles(12));
  EXPECT_EQ(PathsOfFiles().size(), 2u);
  EXPECT_LE(BytesOnDisk(), (16 + 2) * kRoomOfRow);  // a file system may keep a block about a file

  PutFirst(16);
  ASSERT_TRUE(Settles(16));
  EXPECT_EQ(PathsOfFiles().size(), 1u);
  EXPECT_EQ(store_->counts().folder_bytes, 16 * kRoomOfRow);
  for (uint64_t sample = 0; sample < 16; ++sample) EXPECT_TRUE(ComesBack(sample)) << sample;
}

// Its rows are dropped a few at a time, and meanwhile new feeds' rows are not kept.
TEST_F(RowFolderTest, ClosedFeedsHaveNotMoreThan256Files) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = uint64_t{1} << 30});
  for (uint64_t kind = 0; kind < 300; ++kind) {
    shelf_ = store_->Open({.user = 1, .files = 1, .rows = kind});
    PutFirst(1);
    ASSERT_TRUE(Settles(1)) << kind;
  }
  shelf_ = store_->Open({.user = 1, .files = 1, .rows = 300});
  PutFirst(1);
  ASSERT_TRUE(Settles(1));
  EXPECT_LE(PathsOfFiles().size(), 256u);
  EXPECT_TRUE(ComesBack(0));
}

TEST_F(RowFolderTest, ARowThatIsOnItsWayIsNotPutAgainAndCanBeForgotten) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = uint64_t{1} << 30});
  for (int round = 0; round < 200; ++round) {  // most of them while the first is being written
    PutFirst(1);
    if (round % 20 == 19) {
      const std::vector<uint64_t> samples = store_->SamplesOf(1);
      EXPECT_EQ(std::ranges::count(samples, 0u), 1);
    }
    EXPECT_LE(store_->counts().folder_bytes, kRoomOfRow);
  }
  PutFirst(20);
  for (uint64_t sample = 0; sample < 20; ++sample) store_->Forget(1, sample);
  EXPECT_EQ(store_->SamplesOf(1).size(), 0u);
  for (int i = 0; i < 1000 && store_->counts().folder_bytes > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(store_->counts().folder_bytes, 0u);
  EXPECT_EQ(store_->SamplesOf(1).size(), 0u);
}

TEST_F(RowFolderTest, AMissingFolderIsNoticedBeforeTheFirstRow) {
  Begin({.folder = folder_.At("kept"), .folder_max = 1 << 20});
  for (int i = 0; i < 1000 && shelf_->HasRoomFor(kBytesOfRow); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(shelf_->HasRoomFor(kBytesOfRow));
}

TEST_F(RowFolderTest, AChangedByteIsSeen) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = 1 << 20});
  PutFirst(2);
  ASSERT_TRUE(Settles(2));
  const int file = ::open(PathOfFile().c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  const char changed = 'x';
  ASSERT_EQ(::pwrite(file, &changed, 1, kPartBytes + 3), 1);
  ::close(file);
  EXPECT_FALSE(ComesBack(0));
  EXPECT_FALSE(shelf_->Find(0));
  EXPECT_TRUE(ComesBack(1));
  EXPECT_EQ(store_->counts().wrong, 1u);
}

TEST_F(RowFolderTest, AFolderThatIsMissingCostsOnlyItsRows) {
  Begin({.memory = kBytesOfRow, .folder = folder_.At("kept"), .folder_max = 1 << 20});
  PutFirst(3);
  ASSERT_TRUE(Settles(1, 2));
  EXPECT_TRUE(ComesBack(0));
  EXPECT_FALSE(shelf_->HasRoomFor(kBytesOfRow));  // for a while
}

TEST_F(RowFolderTest, AFullDiskCostsOnlyItsRows) {
  fs::create_directory(folder_.At("kept"));
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 2 * kRoomOfRow + 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Begin({.folder = folder_.At("kept"), .folder_max = 1 << 20});
  PutFirst(5);
  const bool settles = Settles(2, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(settles);
  EXPECT_TRUE(ComesBack(0) && ComesBack(1));
  EXPECT_EQ(store_->counts().folder_bytes, 2 * kRoomOfRow);
}

TEST_F(RowFolderTest, RowsThatWaitAtTheEndAreDropped) {
  fs::create_directory(folder_.At("kept"));
  Begin({.folder = folder_.At("kept"), .folder_max = 1 << 20});
  PutFirst(20);
}

}  // namespace
}  // namespace penstock::kept
