// Shards in an object store: how they are named, and which pieces of them are read.
#include <gmock/gmock.h>

#include "tests/support/files/store_in_folder.h"
#include "tests/unit/source/shards/tar_fixture.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RemoteShardsTest : public TarTest {
 protected:
  absl::StatusOr<std::unique_ptr<Dataset>> OpenShards(std::vector<std::string> shards,
                                                      RemoteFiles* remote) {
    ShardOptions options;
    options.spec.shards = std::move(shards);
    options.state_dir = folder_.At("state");
    options.remote = remote;
    PENSTOCK_ASSIGN_OR_RETURN(OpenedShards opened, OpenTar(options, DirectParsers()));
    from_cache_ = opened.from_cache;
    return std::move(opened.dataset);
  }
  std::string Refusal(std::vector<std::string> shards, RemoteFiles* remote) {
    return std::string(OpenShards(std::move(shards), remote).status().message());
  }
  std::string UrlOf(const std::string& name) { return store_.UrlOf(folder_.At(name)); }
  void PutShard(const std::string& name, const std::string& image) {
    folder_.Write(name, TarSampleOf("a", image, 1) + TarSampleOf("b", image + "2", 0) +
                            penstock::testing::TarEnd());
  }

  penstock::testing::StoreInFolder store_;
};

TEST_F(RemoteShardsTest, AFolderStandsForItsShardsInTheOrderOfTheirNames) {
  PutShard("x/2.tar", "second");
  PutShard("x/1.tar", "first");
  folder_.Write("x/3.txt", "no shard");

  const auto dataset = *OpenShards({UrlOf("x/")}, &store_);

  ASSERT_EQ(dataset->samples(), 4u);
  EXPECT_EQ(Read(*dataset, 0), "first");
  EXPECT_EQ(Read(*dataset, 2), "second");
  EXPECT_THAT(dataset->path(0), HasSubstr("s3://bucket"));
  EXPECT_THAT(Refusal({UrlOf("")}, &store_), HasSubstr("holds no files that end in .tar"));
}

TEST_F(RemoteShardsTest, ASampleIsReadAsTheMemberThatIsItsImage) {
  PutShard("1.tar", "image");
  const auto dataset = *OpenShards({UrlOf("1.tar")}, &store_);
  EXPECT_THAT(store_.files.back()->pieces(), ElementsAre()) << "indexing keeps nothing";

  EXPECT_EQ(Read(*dataset, 1), "image2");

  const auto pieces = store_.files.back()->pieces();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].offset, 5 * 512u) << "a header, its data, the label's, and another header";
  EXPECT_EQ(pieces[0].bytes, 6u);
}

TEST_F(RemoteShardsTest, AllThatIsReadOfASampleIsExpectedAndNothingElse) {
  using penstock::testing::TarFile;
  folder_.Write("1.tar", TarFile("a.cls", "1") + TarFile("a.json", "{}") +
                             TarFile("a.jpg", "image") + TarFile("a.seg.png", "its mask") +
                             penstock::testing::TarEnd());
  const auto dataset = *OpenShards({UrlOf("1.tar")}, &store_);
  const auto bytes_expected = [&](const Selection& selection) {
    const size_t before = store_.files.back()->expected().size();
    dataset->Expect(0, selection, {});
    std::vector<uint64_t> bytes;
    const auto expected = store_.files.back()->expected();
    for (size_t i = before; i < expected.size(); ++i) bytes.push_back(expected[i].bytes);
    return bytes;
  };
  const std::vector<SampleField> fields = dataset->fields();
  const auto mask = std::find_if(fields.begin(), fields.end(),
                                 [](const SampleField& field) { return field.name == "seg.png"; });
  ASSERT_NE(mask, fields.end());

  EXPECT_THAT(bytes_expected({}), ElementsAre(5)) << "the image";
  EXPECT_THAT(
      bytes_expected({.fields = {static_cast<uint32_t>(mask - fields.begin())}, .layout = {}}),
      ElementsAre(5, 8));
}

TEST_F(RemoteShardsTest, TheIndexIsKeptForAsLongAsTheVersionIsTheSame) {
  PutShard("1.tar", "image");
  EXPECT_TRUE(OpenShards({UrlOf("1.tar")}, &store_).ok());
  EXPECT_FALSE(from_cache_);
  EXPECT_TRUE(OpenShards({UrlOf("1.tar")}, &store_).ok());
  EXPECT_TRUE(from_cache_);
  PutShard("1.tar", "other");
  EXPECT_EQ(Read(**OpenShards({UrlOf("1.tar")}, &store_), 0), "other");
  EXPECT_FALSE(from_cache_);
}

TEST_F(RemoteShardsTest, UrlsAndPathsDoNotMixAndNeedAStore) {
  PutShard("1.tar", "image");
  PutShard("2.tar", "image");
  EXPECT_THAT(Refusal({UrlOf("1.tar"), folder_.At("2.tar")}, &store_),
              HasSubstr("some shards are files and some are URLs"));
  EXPECT_THAT(Refusal({UrlOf("1.tar")}, nullptr), HasSubstr("not read here"));
  EXPECT_THAT(Refusal({UrlOf("1.tar"), UrlOf("1.tar")}, &store_), HasSubstr("named twice"));
}

}  // namespace
}  // namespace penstock::source
