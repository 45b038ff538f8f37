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

TEST(WalkTest, ADatasetsPlaceIsItsFolderItsFirstFileOrItsPatternsFolder) {
  EXPECT_EQ(PlaceOf("folder", "/data/of, /mine {1}"), "/data/of, /mine {1}");
  EXPECT_EQ(PlaceOf("list", "list:/data/x.csv,label=1,root=/images"), "/data/x.csv");
  EXPECT_EQ(PlaceOf("folder", "folder:/data/x,label=(a)"), "/data/x");
  EXPECT_EQ(PlaceOf("cifar", "cifar:/data/c,split=test"), "/data/c");
  EXPECT_EQ(PlaceOf("pairs", "pairs:images=/data/i,masks=/data/m"), "/data/i");
  EXPECT_EQ(PlaceOf("coco", "coco:annotations=/data/a.json,images=/data/i"), "/data/a.json");
  EXPECT_EQ(PlaceOf("voc", "voc:/data/VOC2012,split=train"), "/data/VOC2012");
  EXPECT_EQ(PlaceOf("yolo", "yolo:images=/data/images/train"), "/data/images/train");
  EXPECT_EQ(PlaceOf("", "/data/photos"), "/data/photos");
  EXPECT_EQ(PlaceOf("tar", "/data/a-{000..146}.tar, /data/b.tar image=png"), "/data");
  EXPECT_EQ(PlaceOf("", "/{0..9}.tar"), "/");
  EXPECT_EQ(PlaceOf("tfrecord", "/data/a, /data/b label=none"), "/data/a");
  EXPECT_EQ(PlaceOf("npy", "npy:image=/data/x.npy,label=/data/y.npy"), "/data/x.npy");
  EXPECT_EQ(PlaceOf("", "tokens:/t/f_{1..9}.bin,length=8"), "/t");
  EXPECT_EQ(PlaceOf("synthetic", "synthetic:224x224x3,samples=9"), "");
  EXPECT_EQ(PlaceOf("mixture", "mixture:both"), "");
  EXPECT_EQ(PlaceOf("", ""), "");
  EXPECT_EQ(PlaceOf("npy", "npy:"), "");
}

}  // namespace
}  // namespace penstock::ctl
