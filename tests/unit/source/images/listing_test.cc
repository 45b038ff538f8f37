// Detects that a folder changed without listing it.
#include "server/source/files/listing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

class ListingTest : public ::testing::Test {
 protected:
  ListingTest() {
    folder_.Write("data/one.jpg", "x");
    auto tree = Tree::Open(folder_.At("data"), {folder_.At("data")});
    EXPECT_TRUE(tree.ok()) << tree.status();
    if (tree.ok()) tree_.emplace(*std::move(tree));
  }
  // Waits for the clock's next tick, so that later changes get another time.
  FolderChange Change() {
    const auto change = FindChange(*tree_, "");
    EXPECT_TRUE(change.ok()) << change.status();
    WaitForTick(change->mtime_ns);
    WaitForTick(change->ctime_ns);
    return *change;
  }
  void PutTimeBack(int64_t mtime_ns) {
    const timespec time = {.tv_sec = mtime_ns / 1'000'000'000, .tv_nsec = mtime_ns % 1'000'000'000};
    const timespec times[] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder_.At("data").c_str(), times, 0), 0);
  }

  testing::TempFolder folder_;
  std::optional<Tree> tree_;
};

TEST_F(ListingTest, AFolderThatIsNotThereHasNoTime) {
  EXPECT_TRUE(absl::IsNotFound(FindChange(*tree_, "nothing").status()));
}

TEST_F(ListingTest, AFolderThatNobodyTouchesKeepsItsTimes) {
  const FolderChange before = Change(), after = Change();

  EXPECT_EQ(before.mtime_ns, after.mtime_ns);
  EXPECT_EQ(before.ctime_ns, after.ctime_ns);
}

TEST_F(ListingTest, ANewFileMovesBothTimesAndOneOfThemCannotBePutBack) {
  const FolderChange before = Change();
  folder_.Write("data/two.jpg", "x");
  const FolderChange added = Change();
  PutTimeBack(before.mtime_ns);
  const FolderChange put_back = Change();

  EXPECT_GT(added.mtime_ns, before.mtime_ns);
  EXPECT_GT(added.ctime_ns, before.ctime_ns);
  EXPECT_EQ(put_back.mtime_ns, before.mtime_ns);
  EXPECT_GT(put_back.ctime_ns, added.ctime_ns);
}

}  // namespace
}  // namespace penstock::source
