#include "client/ctl/check/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;

TEST(WalkTest, WhatIsNotThereIsNamed) {
  testing::TempFolder folder;

  EXPECT_TRUE(absl::IsNotFound(WalkTo(folder.At("none/at/all")).status()));
  EXPECT_THAT(std::string(WalkTo(folder.At("none")).status().message()),
              HasSubstr(folder.At("none")));
  folder.Link("loop", "loop");
  EXPECT_FALSE(WalkTo(folder.At("loop")).ok());
}

TEST(WalkTest, WhereThisProcessMayNotLookItSaysSo) {
  testing::TempFolder folder;
  folder.MakeFolder("closed/data");
  std::filesystem::permissions(folder.At("closed"), std::filesystem::perms::none);
  const testing::WithoutPrivileges nobody;

  EXPECT_TRUE(absl::IsPermissionDenied(WalkTo(folder.At("closed/data")).status()));
}

TEST(WalkTest, TheWayIsEveryFolderFromTheRootWithoutLinks) {
  testing::TempFolder folder;
  folder.MakeFolder("real/data");
  folder.Link("link", "real");

  const auto walk = WalkTo(folder.At("link/data"));

  ASSERT_TRUE(walk.ok()) << walk.status();
  EXPECT_EQ(walk->steps.front().path, "/");
  EXPECT_EQ(walk->steps.back().path, folder.At("real/data"));
  EXPECT_EQ(WalkTo("/")->steps.size(), 1u);
}

TEST(WalkTest, AnAnswerThatComesInTimeIsTheSame) {
  EXPECT_EQ(WalkWithin(std::chrono::seconds(60), "/")->steps.size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(WalkWithin(std::chrono::seconds(60), "/none").status()));
}

Walk Way(mode_t last, mode_t above = 0755) {
  return {.steps = {{"/", S_IFDIR | above, 0, 0}, {"/data", S_IFDIR | last, 7, 8}}};
}

TEST(WalkTest, WhoMayGoIsDecidedByOwnerGroupAndModeInThisOrder) {
  const Identity owner{.user = 7, .group = 1, .groups = {}};
  const Identity member{.user = 5, .group = 1, .groups = {2, 8}};
  const Identity stranger{.user = 5, .group = 1, .groups = {}};

  EXPECT_TRUE(MayGo(Way(0500), owner).ok());
  EXPECT_FALSE(MayGo(Way(0077), owner).ok());
  EXPECT_TRUE(MayGo(Way(0050), member).ok());
  EXPECT_FALSE(MayGo(Way(0705), member).ok());
  EXPECT_TRUE(MayGo(Way(0005), stranger).ok());
  EXPECT_FALSE(MayGo(Way(0770), stranger).ok());
  EXPECT_FALSE(MayGo(Way(0004), stranger).ok()) << "a folder is entered, too";
  EXPECT_TRUE(MayGo(Way(0000, 0000), Identity{}).ok()) << "root may";
}

TEST(WalkTest, TheFolderThatStopsSomebodyIsNamedWithItsOwnerAndMode) {
  const absl::Status stopped = MayGo(Way(0755, 0700), {.user = 5, .group = 1, .groups = {}});

  EXPECT_TRUE(absl::IsPermissionDenied(stopped));
  EXPECT_EQ(stopped.message(), "/ belongs to user 0, group 0, mode 0700: user 5 may not enter it");
}

TEST(WalkTest, AFileIsReadAndNotEntered) {
  const Walk walk = {.steps = {{"/a.npy", S_IFREG | 0444, 7, 8}}};

  EXPECT_TRUE(MayGo(walk, {.user = 5, .group = 1, .groups = {}}).ok());
}

}  // namespace
}  // namespace penstock::ctl
