// Indexes beside shards in an object store: made, used instead of a scan, and refused.
#include "server/source/shards/beside_indexes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "server/source/shards/export_index.h"
#include "server/source/shards/upload_versions.h"
#include "tests/support/files/store_in_folder.h"
#include "tests/unit/source/shards/tar_fixture.h"

namespace penstock::source {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BesideIndexesTest : public TarTest {
 protected:
  void PutShards(int count) {
    for (int i = 0; i < count; ++i) PutShard(i, absl::StrCat("image", i));
  }
  void PutShard(int number, const std::string& image) {
    folder_.Write(absl::StrCat("x/", 100 + number, ".tar"), TarSampleOf("a", image, 1) +
                                                                TarSampleOf("b", image + "2", 0) +
                                                                penstock::testing::TarEnd());
  }
  std::string Url() const { return penstock::testing::StoreInFolder::UrlOf(folder_.At("x/")); }

  ShardOptions Options() {
    ShardOptions options;
    options.spec = asked_;
    options.spec.shards = {Url()};
    options.remote = &store_;
    options.threads = 4;
    return options;
  }
  // Writes the index of each shard beside it, as it is uploaded.
  void Export() {
    const ShardOptions options = Options();
    const auto files = *ListFiles(options, kTarSuffix);
    const auto parsers = DirectParsers();
    const absl::Status status = ExportIndexFiles(
        files, MakeTarIndexer(options.spec, *parsers),
        {.threads = 2,
         .watch = [](uint64_t) { return true; },
         .take =
             [&](const ExportedIndex& index) {
               EXPECT_EQ(index.samples, 2u);
               folder_.Write("x/" + index.shard.substr(index.shard.rfind('/') + 1) + ".idx",
                             index.file);
               return absl::OkStatus();
             }});
    ASSERT_TRUE(status.ok()) << status;
  }
  // Opens the shards anew, with a state directory of that name. Returns the stored manifest.
  std::string OpenAnew(const std::string& state) {
    store_.files.clear();
    ShardOptions options = Options();
    options.state_dir = folder_.At(state);
    auto opened = OpenTar(options, DirectParsers());
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (!opened.ok()) return "";
    warning_ = opened->warning;
    dataset_ = std::move(opened->dataset);
    for (const auto& file : std::filesystem::directory_iterator(folder_.At(state + "/manifests"))) {
      std::ifstream bytes(file.path(), std::ios::binary);
      return {std::istreambuf_iterator<char>(bytes), std::istreambuf_iterator<char>()};
    }
    return "";
  }
  int Scans() const {
    return static_cast<int>(std::count_if(store_.files.begin(), store_.files.end(),
                                          [](const auto& file) { return file->reads > 0; }));
  }
  std::vector<IndexFileUse> Uses() const {
    std::vector<IndexFileUse> uses;
    for (const auto& file : store_.files)
      uses.insert(uses.end(), file->index_uses.begin(), file->index_uses.end());
    return uses;
  }

  penstock::testing::StoreInFolder store_;
  std::unique_ptr<Dataset> dataset_;
};

TEST_F(BesideIndexesTest, AreUsedInsteadOfAScanAndGiveTheSameManifestToTheByte) {
  PutShards(3);
  const std::string scanned = OpenAnew("scanned");
  EXPECT_EQ(Scans(), 3);
  Export();

  const std::string indexed = OpenAnew("indexed");

  EXPECT_EQ(Scans(), 0) << "no byte of a shard is read";
  EXPECT_FALSE(scanned.empty());
  EXPECT_EQ(indexed, scanned);
  EXPECT_EQ(warning_, "");
  EXPECT_THAT(Uses(), ElementsAre(IndexFileUse::kUsed, IndexFileUse::kUsed, IndexFileUse::kUsed));
  EXPECT_EQ(Read(*dataset_, 5), "image22");
}

TEST_F(BesideIndexesTest, OfAReplacedShardIsRefusedWithTheReasonAndTheShardIsScanned) {
  PutShards(3);
  Export();
  PutShard(1, "other1");  // as long as before

  OpenAnew("indexed");

  EXPECT_EQ(Scans(), 1);
  EXPECT_THAT(warning_, HasSubstr("101.tar' is not used: it is of another version of the shard"));
  EXPECT_THAT(Uses(),
              ElementsAre(IndexFileUse::kUsed, IndexFileUse::kRefused, IndexFileUse::kUsed));
  EXPECT_EQ(Read(*dataset_, 3), "other12");
}

TEST_F(BesideIndexesTest, ThatAreDamagedOrTooLargeAreRefusedAndCounted) {
  PutShards(2);
  Export();
  folder_.Write("x/100.tar.idx", "no index");
  folder_.Write("x/101.tar.idx", std::string((1 << 20) + 100'000, 'x'));

  OpenAnew("indexed");

  EXPECT_EQ(Scans(), 2);
  EXPECT_THAT(warning_, HasSubstr("(and so with 1 more)"));
  EXPECT_THAT(Uses(), Each(IndexFileUse::kRefused));
}

TEST_F(BesideIndexesTest, ForAnotherImageAreRefused) {
  PutShards(1);
  Export();
  asked_.label = "none";

  OpenAnew("indexed");

  EXPECT_EQ(Scans(), 1);
  EXPECT_THAT(warning_, HasSubstr("was made for 'image= label=cls', wanted 'image= no label'"));
}

TEST_F(BesideIndexesTest, AreNotAskedForOnceTheFirstShardsHaveNone) {
  PutShards(70);

  OpenAnew("scanned");

  EXPECT_EQ(Uses().size(), 64u);
  EXPECT_THAT(Uses(), Each(IndexFileUse::kAbsent));
  EXPECT_EQ(warning_, "");
  EXPECT_EQ(Scans(), 70);
}

TEST_F(BesideIndexesTest, OfSomeShardsAreUsedForThese) {
  PutShards(70);
  Export();
  for (int i = 1; i < 70; i += 2)
    std::filesystem::remove(folder_.At(absl::StrCat("x/", 100 + i, ".tar.idx")));

  OpenAnew("indexed");

  EXPECT_EQ(Uses().size(), 70u);
  EXPECT_EQ(Scans(), 35);
  EXPECT_EQ(dataset_->samples(), 140u);
}

TEST_F(BesideIndexesTest, OfALocalShardAreForItsUploads) {
  PutShards(1);
  ShardOptions options = Options();
  options.spec.shards = {folder_.At("x")};
  const auto files = *ListFiles(options, kTarSuffix);
  const auto parsers = DirectParsers();
  std::string file;

  const absl::Status status = ExportIndexFiles(files, MakeTarIndexer(options.spec, *parsers),
                                               {.watch = [](uint64_t) { return true; },
                                                .take =
                                                    [&](const ExportedIndex& index) {
                                                      file = index.file;
                                                      return absl::OkStatus();
                                                    }});

  ASSERT_TRUE(status.ok()) << status;
  const auto read_for = [&](const std::string& etag) {
    const IndexTopic topic = {.kind = IndexedKind::kTar,
                              .roles = ToTarRoles("", ""),
                              .shard_bytes = files[0].StateOf(*files[0].Open())->bytes};
    return ReadIndexFile(std::as_bytes(std::span(file)), topic, {.version = etag, .path = "x"})
        .status();
  };
  std::ifstream shard(folder_.At("x/100.tar"), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(shard)),
                            std::istreambuf_iterator<char>());
  UploadVersions uploads = *UploadVersions::Make(content.size());
  uploads.Add(std::as_bytes(std::span(content)));
  for (const std::string& etag : uploads.Finish()) EXPECT_TRUE(read_for(etag).ok()) << etag;
  EXPECT_FALSE(read_for("900150983cd24fb0d6963f7d28e17f72").ok());
}

}  // namespace
}  // namespace penstock::source
