// Tar shards that change, their cached index, and the index file that may be next to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/source/shards/shard_manifest.h"
#include "tests/support/files/manifest_version.h"
#include "tests/unit/source/shards/tar_fixture.h"

namespace penstock::source {
namespace {

namespace fs = std::filesystem;
using penstock::testing::TarEnd;
using penstock::testing::TarFile;
using penstock::testing::TarLongNamed;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TarChangesTest : public TarTest {
 protected:
  std::string CacheFile() const { return fs::directory_iterator(state_ + "/manifests")->path(); }
  static std::string ReadFile(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
};

// ---- The cache, and changes on disk. ----

TEST_F(TarChangesTest, TheManifestIsCachedAndUsedUntilAShardChanges) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  const uint64_t digest = Open()->digest();
  EXPECT_FALSE(from_cache_);

  EXPECT_EQ(Open()->digest(), digest);
  EXPECT_TRUE(from_cache_);

  folder_.Write("x.tar", TarSampleOf("a", "other", 2));
  EXPECT_NE(Open()->digest(), digest);
  EXPECT_FALSE(from_cache_);
}

TEST_F(TarChangesTest, AnotherImageOrLabelIsAnotherManifestAndAnotherDataset) {
  folder_.Write("x.tar", TarFile("a.jpg", "jpg") + TarFile("a.png", "png"));
  const auto dataset = Open();
  EXPECT_EQ(Read(*dataset, 0), "jpg");

  asked_.image = "png";
  const auto other = Open();

  EXPECT_EQ(Read(*other, 0), "png");
  EXPECT_FALSE(from_cache_);
  EXPECT_NE(other->digest(), dataset->digest());
}

TEST_F(TarChangesTest, EveryDamagedByteOfTheCacheCostsAWarningAndANewIndex) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  const uint64_t digest = Open()->digest();
  const std::string whole = ReadFile(CacheFile());

  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 0x40;
    WriteFile(CacheFile(), damaged);

    ASSERT_EQ(Open()->digest(), digest) << "byte " << at;

    ASSERT_FALSE(from_cache_) << "byte " << at;
    ASSERT_THAT(warning_, HasSubstr("indexed anew")) << "byte " << at;
    ASSERT_EQ(ReadFile(CacheFile()), whole) << "byte " << at;
  }
  (void)Open();
  EXPECT_TRUE(from_cache_);
}

TEST_F(TarChangesTest, ACacheCutAnywhereOrOfAnotherVersionCostsAWarningAndANewIndex) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  const uint64_t digest = Open()->digest();
  const std::string whole = ReadFile(CacheFile());
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    WriteFile(CacheFile(), whole.substr(0, bytes));
    ASSERT_EQ(Open()->digest(), digest);
    ASSERT_THAT(warning_, HasSubstr("indexed anew")) << bytes << " bytes";
  }
  WriteFile(CacheFile(), penstock::testing::WithManifestVersion(whole, kShardVersion + 1));

  EXPECT_EQ(Open()->digest(), digest);

  EXPECT_THAT(
      warning_,
      AllOf(HasSubstr(absl::StrCat("version ", kShardVersion + 1, ", wanted ", kShardVersion)),
            HasSubstr("indexed anew")));
  EXPECT_FALSE(from_cache_);
}

TEST_F(TarChangesTest, TheDigestIsTheSameForACopyElsewhere) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  const uint64_t digest = Open()->digest();
  folder_.Write("elsewhere/y.tar", TarSampleOf("a", "image", 1));
  asked_.shards = {folder_.At("elsewhere/y.tar")};

  EXPECT_EQ(Open()->digest(), digest);
}

TEST_F(TarChangesTest, AShardThatWasWrittenToIsNotReadUntilItIsOpenedAnew) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  const auto dataset = Open();
  ASSERT_EQ(Read(*dataset, 0), "image");

  folder_.Write("x.tar", TarSampleOf("a", "other", 1));

  EXPECT_THAT(Read(*dataset, 0), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("written to")));
  EXPECT_EQ(Read(*Open(), 0), "other");
}

TEST_F(TarChangesTest, AShardThatIsGoneIsTroubleAndOneThatIsCutOffOrReplacedIsAnotherOne) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  const auto dataset = Open();
  ASSERT_EQ(Read(*dataset, 0), "image");

  fs::rename(folder_.At("x.tar"), folder_.At("kept"));
  EXPECT_THAT(Read(*dataset, 0), HasSubstr("UNAVAILABLE"));
  EXPECT_FALSE(dataset->changed());
  fs::copy(folder_.At("kept"), folder_.At("x.tar"));
  fs::remove(folder_.At("kept"));
  EXPECT_THAT(Read(*dataset, 0), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("another file")));
  EXPECT_TRUE(dataset->changed());
  fs::resize_file(folder_.At("x.tar"), 1024);
  EXPECT_THAT(Read(*dataset, 0), HasSubstr("and is 1024"));
  fs::remove(folder_.At("x.tar"));
  EXPECT_THAT(Read(*dataset, 0), HasSubstr("UNAVAILABLE"));
}

// ---- DALI's index. ----

std::string IndexOf(const std::string& members) { return "v1.2 1\n" + members + "\n"; }

TEST_F(TarChangesTest, AnIndexBesideTheShardGivesTheSameDataset) {
  folder_.Write("x.tar", TarLongNamed("d/a.jpg", "image") + TarFile("README", "none") +
                             TarFile("d/a.cls", "4") + TarEnd());
  const uint64_t digest = Open()->digest();
  folder_.Write("x.idx", IndexOf("jpg 1536 5 d/a.jpg cls 3584 1 d/a.cls"));
  use_ = CacheUse::kRebuild;

  const auto dataset = Open();

  EXPECT_EQ(warning_, "");
  EXPECT_EQ(dataset->digest(), digest);
  EXPECT_EQ(dataset->label(0), 4);
  EXPECT_EQ(Read(*dataset, 0), "image");
}

TEST_F(TarChangesTest, AnIndexDoesNotHideThatTheShardIsCutWithinItsPadding) {
  const std::string shard = TarSampleOf("a", "image", 4);
  folder_.Write("x.tar", shard.substr(0, shard.size() - 1));
  folder_.Write("x.idx", IndexOf("jpg 512 5 a.jpg cls 1536 1 a.cls"));

  EXPECT_THAT(Refusal(), HasSubstr("truncated"));
}

// It fits by chance: the members have the same sizes, in another order.
TEST_F(TarChangesTest, AnIndexOfAShardThatWasPackedAgainIsPassedOver) {
  folder_.Write(
      "x.tar", TarFile("a.jpg", "image") + TarFile("a.id", "7") + TarFile("a.cls", "4") + TarEnd());
  folder_.Write("x.idx", IndexOf("jpg 512 5 a.jpg cls 1536 1 a.cls id 2560 1 a.id"));

  EXPECT_EQ(Open()->label(0), 4);

  EXPECT_THAT(warning_, AllOf(HasSubstr("is ignored"), HasSubstr("x.idx'")));
}

TEST_F(TarChangesTest, AnIndexThatIsNotRightIsPassedOverWithAWarning) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 4) + TarEnd());
  const uint64_t digest = Open()->digest();
  use_ = CacheUse::kRebuild;
  for (const std::string members :
       {"jpg 512 5 a.jpg", "jpg 512 5 a.jpg cls 1536 1 b.cls", "jpg 512 4 a.jpg cls 1536 1 a.cls",
        "jpg 512 5 b.jpg cls 1536 1 b.cls", "jpg 1536 5 a.jpg",
        "jpg 512 5 a.jpg cls 1536 999999 a.cls", "what is this"}) {
    folder_.Write("x.idx", IndexOf(members));

    EXPECT_EQ(Open()->digest(), digest) << members;

    EXPECT_THAT(warning_, AllOf(HasSubstr("is ignored"), HasSubstr("x.idx'"))) << members;
  }
}

}  // namespace
}  // namespace penstock::source
