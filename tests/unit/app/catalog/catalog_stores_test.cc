// How often stores are asked while datasets of shards are opened, and exporting indexes.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/files/store_in_folder.h"
#include "tests/support/files/tar_maker.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using ::testing::HasSubstr;

class CatalogStoresTest : public CatalogRig {
 protected:
  CatalogStoresTest() {
    options_.remote = &store_;
    Put("image");
  }
  void Put(const std::string& image) {
    folder_.Write("x.tar", penstock::testing::TarFile("a.jpg", image) +
                               penstock::testing::TarFile("a.cls", "1") +
                               penstock::testing::TarEnd());
  }
  std::string Url() const { return penstock::testing::StoreInFolder::UrlOf(folder_.At("x.tar")); }

  template <typename Method>
  absl::StatusOr<Catalog::State> OpenBy(Method method, uid_t user = 1) {
    std::promise<absl::StatusOr<Catalog::State>> answer;
    (catalog().*method)(
        Url(), {.uid = user},
        [&](absl::StatusOr<Catalog::State> state) { answer.set_value(std::move(state)); },
        Catalog::NeverCancelled);
    return answer.get_future().get();
  }
  size_t looks() const { return store_.files.size(); }

  penstock::testing::StoreInFolder store_;
};

TEST_F(CatalogStoresTest, AnOpeningLooksAtEachShardOnce) {
  ASSERT_TRUE(OpenBy(&Catalog::Open).ok());
  EXPECT_EQ(looks(), 1u);
  ASSERT_TRUE(OpenBy(&Catalog::Open).ok());
  EXPECT_EQ(looks(), 2u) << "the next one looks whether it is still the same";
}

TEST_F(CatalogStoresTest, ASessionGetsWhatWasDescribedToItsUserAMomentAgo) {
  const auto described = OpenBy(&Catalog::OpenToDescribe);
  ASSERT_TRUE(described.ok());

  EXPECT_EQ(*OpenBy(&Catalog::OpenForSession), *described);
  EXPECT_EQ(looks(), 1u);
  ASSERT_TRUE(OpenBy(&Catalog::OpenForSession, 2).ok());
  EXPECT_EQ(looks(), 2u) << "nothing was described to this user";

  std::this_thread::sleep_for(DescribedLately::kLately + std::chrono::milliseconds(10));
  Put("another image");
  EXPECT_NE(*OpenBy(&Catalog::OpenForSession), *described);
  EXPECT_EQ(looks(), 3u);
}

TEST_F(CatalogStoresTest, AnIndexOfEachShardIsExportedAndNothingIsOpened) {
  std::vector<rpc::ExportedShard> exported;
  std::promise<absl::StatusOr<rpc::IndexProgress>> end;
  const auto export_of = [&](const std::string& dataset) {
    end = {};
    catalog().Index({.dataset = dataset, .export_indexes = true}, {.uid = 1},
                    Catalog::NeverCancelled, [&](absl::StatusOr<rpc::IndexProgress> progress) {
                      if (progress.ok() && progress->exported)
                        exported.push_back(*progress->exported);
                      if (!progress.ok() || progress->done) end.set_value(std::move(progress));
                    });
    return end.get_future().get();
  };

  const auto done = export_of(Url());

  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->shards, 1u);
  EXPECT_EQ(done->samples, 1u);
  ASSERT_EQ(exported.size(), 1u);
  EXPECT_EQ(exported[0].shard, Url());
  EXPECT_THAT(exported[0].index, HasSubstr("PSTKSIDX"));
  EXPECT_TRUE(catalog().List().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_.At("state/manifests")));
  EXPECT_THAT(std::string(export_of(folder_.At("flowers")).status().message()),
              HasSubstr("has no shards"));
}

}  // namespace
}  // namespace penstock::app
