// WebDataset's names, labels and groups, and DALI's index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/tar/wds_index.h"
#include "server/source/tar/wds_index_name.h"
#include "server/source/tar/wds_name.h"
#include "server/source/tar/wds_samples.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Split(const std::string& member) {
  const auto name = SplitWdsName(member);
  return name ? name->key + " | " + name->extension : "none";
}

TEST(WdsNameTest, HiddenFilesNotesAndFilesWithoutAnExtensionAreNoSamples) {
  for (const std::string name : {".hidden.jpg", "a/.DS_Store", "a/._b.jpg", "README", "a.b/README",
                                 "__index__", "__notes__/a.jpg", "__notes.txt__", ""})
    EXPECT_EQ(Split(name), "none") << name;
}

TEST(WdsNameTest, TheExtensionBeginsAtTheFirstDotBehindTheLastSlash) {
  EXPECT_EQ(Split("a.jpg"), "a | jpg");
  EXPECT_EQ(Split("v1.0/a.seg.png"), "v1.0/a | seg.png");
  EXPECT_EQ(Split("./a/b.JPG"), "./a/b | jpg");
  EXPECT_EQ(Split("a."), "a | ");
  EXPECT_EQ(Split("a__b__.jpg"), "a__b__ | jpg");
  EXPECT_EQ(Split("__b__.jpg"), "__b__ | jpg");
}

TEST(WdsLabelTest, IsAWholeNumberOf32Bits) {
  EXPECT_EQ(ParseWdsLabel("7"), 7);
  EXPECT_EQ(ParseWdsLabel(" 281\n"), 281);
  EXPECT_EQ(ParseWdsLabel("-1"), -1);
  for (const std::string text : {"", "dog", "7.0", "7 8", "4294967296", "0x10"})
    EXPECT_EQ(ParseWdsLabel(text), std::nullopt) << text;
  std::string long_one(100, ' ');
  long_one += '7';
  EXPECT_EQ(ParseWdsLabel(long_one), std::nullopt);
}

TEST(WdsRolesTest, AreWhatIsAskedForElseTheUsualOnes) {
  EXPECT_THAT(WdsRoles::Of("", "").images, ElementsAre("jpg", "jpeg", "png", "webp"));
  EXPECT_EQ(WdsRoles::Of("", "").label, "cls");
  EXPECT_THAT(WdsRoles::Of("PNG", "").images, ElementsAre("png"));
  EXPECT_EQ(WdsRoles::Of("", "none").label, "");
  EXPECT_EQ(WdsRoles::Of("", "id").label, "id");
}

// ---- Samples. ----

class WdsSamplesTest : public ::testing::Test {
 protected:
  using Added = WdsSamples::Added;
  absl::StatusOr<Added> Add(const std::string& name, uint64_t bytes = 1) {
    const TarMember member = {.name = name, .offset = offset_, .bytes = bytes};
    offset_ += 2 * kTarBlock;
    auto added = samples_.Add(member);
    if (added.ok() && *added == Added::kLabel) {
      const absl::Status set = samples_.SetLabel(member, "3");
      if (!set.ok()) return set;
    }
    return added;
  }
  // "ext ext | ext …": the extensions of each sample's members.
  static std::string Show(const ScannedShard& shard) {
    std::string all;
    for (size_t i = 0; i < shard.samples.size(); ++i) {
      const size_t end =
          i + 1 < shard.samples.size() ? shard.samples[i + 1].place : shard.members.size();
      if (i > 0) all += "| ";
      for (size_t m = shard.samples[i].place; m < end; ++m)
        all += shard.extensions[shard.members[m].extension].name + " ";
    }
    return all;
  }

  const WdsRoles roles_ = WdsRoles::Of("", "");
  uint64_t offset_ = kTarBlock;
  WdsSamples samples_{"/x.tar", roles_};
};

TEST_F(WdsSamplesTest, TwoMembersOfOneNameInASampleAreRefusedAsWebdatasetDoes) {
  ASSERT_TRUE(Add("a.txt").ok());

  const auto second = Add("a.TXT");

  EXPECT_TRUE(absl::IsInvalidArgument(second.status()));
  EXPECT_THAT(second.status().message(), HasSubstr("'/x.tar' at byte 1536: 'a.TXT'"));
}

TEST_F(WdsSamplesTest, ALabelThatIsNoNumberIsRefusedWithTheRemedy) {
  const TarMember member = {.name = "a.cls", .offset = 512, .bytes = 3};
  ASSERT_EQ(*samples_.Add(member), Added::kLabel);

  const absl::Status refused = samples_.SetLabel(member, "dog");

  EXPECT_THAT(refused.message(), HasSubstr("got 'dog'"));
  EXPECT_THAT(refused.message(), HasSubstr("label: none"));
}

TEST_F(WdsSamplesTest, AMemberBehindTwoTebibytesIsRefused) {
  offset_ = uint64_t{1} << 41;

  EXPECT_THAT(Add("a.txt").status().message(), HasSubstr("2 TiB"));
}

TEST_F(WdsSamplesTest, MembersThatFollowEachOtherUnderOneKeyAreASample) {
  for (const std::string name :
       {"a.jpg", "a.cls", "b.cls", ".hidden", "b.txt", "b.seg.png", "a.txt"})
    ASSERT_TRUE(Add(name).ok()) << name;

  const ScannedShard shard = std::move(samples_).Finish();

  EXPECT_EQ(Show(shard), "jpg cls | cls txt seg.png | txt ");
  EXPECT_EQ(shard.labeled, 2u);
  EXPECT_EQ(shard.images, 1u);
  EXPECT_EQ(shard.example, "/x.tar#a");
  EXPECT_EQ(shard.samples[0].label, 3);
}

TEST_F(WdsSamplesTest, TheImageComesFirstAndIsTheFirstKindOfTheListThatIsThere) {
  for (const std::string name : {"a.cls", "a.png", "a.txt", "b.webp", "b.jpeg"})
    ASSERT_TRUE(Add(name).ok());

  const ScannedShard shard = std::move(samples_).Finish();

  EXPECT_EQ(Show(shard), "png cls txt | jpeg webp ");
  EXPECT_EQ(shard.images, 2u);
}

TEST_F(WdsSamplesTest, TheDigestIsOfNamesSizesAndLabels) {
  const auto digest = [this](const std::string& name, uint64_t bytes) {
    WdsSamples samples("/x.tar", roles_);
    EXPECT_TRUE(samples.Add({.name = name, .offset = 512, .bytes = bytes}).ok());
    return std::move(samples).Finish().digest;
  };
  EXPECT_EQ(digest("a.jpg", 5), digest("a.jpg", 5));
  EXPECT_NE(digest("a.jpg", 5), digest("a.jpg", 6));
  EXPECT_NE(digest("a.jpg", 5), digest("b.jpg", 5));
}

// ---- DALI's index. ----

constexpr uint64_t kShardBytes = 10240;

absl::StatusOr<std::vector<TarMember>> ParseMembers(const std::string& text) {
  return ParseWdsIndex(text, kShardBytes, "/x.idx");
}

TEST(WdsIndexTest, WhatIsNotRightIsRefusedWithTheLine) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "line 1: wanted 'v1.2 SAMPLES'"},
      {"v1.1 1\njpg 512 3 a.jpg\n", "line 1"},
      {"v1.2 x\n", "line 1"},
      {"v1.2 2\njpg 512 3 a.jpg\n", "says 2 samples, but it has 1"},
      {"v1.2 1\njpg 512 3\n", "line 2: wanted EXTENSION OFFSET SIZE NAME"},
      {"v1.2 1\njpg 512 3 a b.jpg\n", "line 2: wanted EXTENSION"},
      {"v1.2 1\n\n", "line 2"},
      {"v1.2 1\njpg -512 3 a.jpg\n", "not an offset"},
      {"v1.2 1\njpg 512 99999999999999999999 a.jpg\n", "not an offset and a size"},
      {"v1.2 1\npng 512 3 a.jpg\n", "does not have the extension 'png'"},
      {"v1.2 1\njpg 0 3 a.jpg\n", "at byte 0"},
      {"v1.2 1\njpg 513 3 a.jpg\n", "at byte 513"},
      {"v1.2 1\njpg 512 9729 a.jpg\n", "ends after the shard"},
      {"v1.2 1\njpg 10752 0 a.jpg\n", "ends after the shard"},
      {"v1.2 1\njpg 18446744073709551104 1024 a.jpg\n", "ends after the shard"},
      {"v1.2 1\njpg 512 3 a.jpg cls 1024 1 a.cls\n", "line 2: 'a.cls' at byte 1024"},
      {"v1.2 1\njpg 1536 3 a.jpg cls 512 1 a.cls\n", "'a.cls' at byte 512"},
      {"v1.2 1\njpg 512 3 a.jpg cls 1536 1 b.cls\n", "different samples"},
      {"v1.2 2\njpg 512 3 a.jpg\ncls 1536 1 a.cls\n",
       "line 3: it has the same sample as the previous line"},
  };
  for (const auto& [text, why] : wrong) {
    const auto members = ParseMembers(text);
    ASSERT_TRUE(absl::IsInvalidArgument(members.status())) << text;
    EXPECT_THAT(members.status().message(), HasSubstr("'/x.idx' line "));
    EXPECT_THAT(members.status().message(), HasSubstr(why)) << text;
  }
}

TEST(WdsIndexTest, MembersComeInTheOrderOfTheFile) {
  const auto members =
      ParseMembers("v1.2 2\njpg 512 600 a/b.jpg cls 2048 1 a/b.cls\nJPG 3072 7168 c.JPG");

  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ((*members)[1].name, "a/b.cls");
  EXPECT_EQ((*members)[1].offset, 2048u);
  EXPECT_EQ((*members)[2].bytes, 7168u);
}

TEST(WdsIndexTest, LiesWhereWds2idxPutsIt) {
  EXPECT_EQ(WdsIndexNameOf("train-000.tar"), "train-000.idx");
  EXPECT_EQ(WdsIndexNameOf("/data.v1/train.v2.tar"), "/data.v1/train.idx");
  EXPECT_EQ(WdsIndexNameOf("plain"), "plain.idx");
}

}  // namespace
}  // namespace penstock::source
