// `penstockctl index --export`: its command line, and the files that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/ctl/cache/export_command.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string WordsOf(const absl::Status& status) { return std::string(status.message()); }

TEST(ExportTest, TheCommandLineTakesSeveralShardsAndAFolder) {
  const auto call = ParseCommandLine({"index", "--export", "a.tar", "b.tar", "--to=there"});

  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_TRUE(call->export_indexes);
  EXPECT_EQ(call->dataset, "a.tar");
  EXPECT_THAT(call->more_datasets, ElementsAre("b.tar"));
  EXPECT_EQ(call->to, "there");
  EXPECT_FALSE(ParseCommandLine({"index", "x", "--to", "there"}).ok());
  EXPECT_FALSE(ParseCommandLine({"fetch", "x", "--export"}).ok());
  EXPECT_FALSE(ParseCommandLine({"index", "--export"}).ok());
}

TEST(ExportTest, AnIndexLiesBesideItsShardOrInTheFolder) {
  EXPECT_EQ(*FindIndexPath("/data/x.tar", ""), "/data/x.tar.idx");
  EXPECT_EQ(*FindIndexPath("/data/x.tar", "there"), "there/x.tar.idx");
  EXPECT_EQ(*FindIndexPath("s3://bucket/a/x.tar", "there/"), "there/x.tar.idx");
  EXPECT_THAT(WordsOf(FindIndexPath("s3://bucket/x.tar", "").status()), HasSubstr("--to FOLDER"));
  for (const char* shard : {"s3://bucket/..", "s3://bucket/.", "s3://bucket/"})
    EXPECT_FALSE(FindIndexPath(shard, "there").ok()) << shard;
}

TEST(ExportTest, AnIndexReplacesAnOlderOneAndNothingElse) {
  const testing::TempFolder folder;
  const std::string path = folder.At("x.tar.idx");
  ASSERT_TRUE(WriteIndex(path, "PSTKSIDX one").ok());

  ASSERT_TRUE(WriteIndex(path, "PSTKSIDX two").ok());

  EXPECT_EQ(ContentOf(path), "PSTKSIDX two");
  folder.Write("dali.idx", "v1.2 5\n");
  EXPECT_THAT(WordsOf(WriteIndex(folder.At("dali.idx"), "PSTKSIDX")), HasSubstr("is no index"));
  EXPECT_EQ(ContentOf(folder.At("dali.idx")), "v1.2 5\n");
  folder.Write("empty.idx", "");
  EXPECT_FALSE(WriteIndex(folder.At("empty.idx"), "PSTKSIDX").ok());
  EXPECT_FALSE(WriteIndex(folder.At("absent/x.idx"), "PSTKSIDX").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.At("")), {}), 3)
      << "nothing is left of those";
}

}  // namespace
}  // namespace penstock::ctl
