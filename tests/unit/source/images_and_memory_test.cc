// What tells two mounted images apart, and how much memory an opening may take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/units.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/mounted_image.h"

namespace penstock::source {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const dev_t kDevice = makedev(7, 3);

class MountedImageTest : public ::testing::Test {
 protected:
  MountedImageTest() {
    char name[] = "/tmp/penstock-image-XXXXXX";
    root_ = ::mkdtemp(name);
    Write("/proc/sys/kernel/random/boot_id", "5b1f");
    Write("/sys/dev/block/7:3/diskseq", "12");
    Write("/sys/dev/block/7:4/diskseq", "12");
  }
  ~MountedImageTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }

  std::string root_;
};

TEST_F(MountedImageTest, TheSameAttachedImageHasTheSameNumber) {
  EXPECT_EQ(NumberOfImage(kDevice, root_), NumberOfImage(kDevice, root_));
}

TEST_F(MountedImageTest, AnImageThatIsAttachedAgainHasAnother) {
  const uint64_t before = NumberOfImage(kDevice, root_);
  EXPECT_NE(before, NumberOfImage(makedev(7, 4), root_));

  Write("/sys/dev/block/7:3/diskseq", "13");
  EXPECT_NE(before, NumberOfImage(kDevice, root_));

  Write("/sys/dev/block/7:3/diskseq", "12");
  Write("/proc/sys/kernel/random/boot_id", "77aa");
  EXPECT_NE(before, NumberOfImage(kDevice, root_));
}

TEST_F(MountedImageTest, WhereDisksAreNotNumberedThisProcessHasOneNumberForADevice) {
  const uint64_t numbered = NumberOfImage(kDevice, root_);
  fs::remove(root_ + "/sys/dev/block/7:3/diskseq");

  EXPECT_EQ(NumberOfImage(kDevice, root_), NumberOfImage(kDevice, root_));
  EXPECT_NE(NumberOfImage(kDevice, root_), numbered);
}

TEST(ImageSystemTest, ImagesAreKnownByTheirFileSystem) {
  EXPECT_TRUE(IsImageSystem(SQUASHFS_MAGIC));
  EXPECT_FALSE(IsImageSystem(EXT4_SUPER_MAGIC));
  EXPECT_FALSE(IsImageSystem(TMPFS_MAGIC));
}

TEST(IndexMemoryTest, AnOpeningMayTakeHalfOfWhatIsLeft) {
  EXPECT_TRUE(CheckIndexMemory(base::kGiB, "/l.npy", 2 * base::kGiB).ok());
  const absl::Status refused = CheckIndexMemory(base::kGiB + 1, "/l.npy", 2 * base::kGiB);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("'/l.npy'"), HasSubstr("2.0 GiB")));
}

TEST(IndexMemoryTest, LittleIsAlwaysAllowed) {
  EXPECT_TRUE(CheckIndexMemory(16 * base::kMiB, "/l.npy", 0).ok());
  EXPECT_FALSE(CheckIndexMemory(16 * base::kMiB + 1, "/l.npy", 0).ok());
}

TEST(IndexMemoryTest, TheFilesOfAnOpeningAreCountedTogether) {
  uint64_t left = 2 * base::kGiB;
  IndexMemory memory([&] { return left; });
  for (int shard = 0; shard < 8; ++shard) {
    ASSERT_TRUE(memory.Take(128 * base::kMiB, "/a.tar").ok()) << shard;
    left -= 128 * base::kMiB;  // the bytes have arrived
  }
  const absl::Status refused = memory.Take(1, "/b.tar");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("'/b.tar'"), HasSubstr("2.0 GiB")));
  memory.GiveBack(128 * base::kMiB);
  left += 128 * base::kMiB;
  EXPECT_TRUE(memory.Take(128 * base::kMiB, "/b.tar").ok());
}

TEST(IndexMemoryTest, WhatOthersTakeMeanwhileIsMissing) {
  uint64_t left = base::kGiB;
  IndexMemory memory([&] { return left; });
  ASSERT_TRUE(memory.Take(256 * base::kMiB, "/a.tar").ok());
  left = 64 * base::kMiB;
  EXPECT_FALSE(memory.Take(64 * base::kMiB, "/b.tar").ok());
}

TEST(IndexMemoryTest, ManySmallPiecesAreMeasuredSeldom) {
  int measured = 0;
  IndexMemory memory([&] {
    ++measured;
    return base::kGiB;
  });
  for (int i = 0; i < 1024; ++i) ASSERT_TRUE(memory.Take(64 << 10, "/a.tar").ok());  // 64 MiB
  EXPECT_LE(measured, 4);
  EXPECT_GE(measured, 2);
}

}  // namespace
}  // namespace penstock::source
