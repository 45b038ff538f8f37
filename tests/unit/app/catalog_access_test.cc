// Access control in the catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "absl/strings/str_replace.h"
#include "server/app/catalog/catalog.h"
#include "server/source/parse/directly.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/message_of.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CatalogAccessTest : public ::testing::Test {
 protected:
  CatalogAccessTest() {
    folder_.Write("flowers/daisy/0.jpg", "photograph");
    folder_.Write("trees/oak/0.jpg", "photograph");
  }

  // Like a configured daemon, serves "flowers" to these groups and "trees" to everybody.
  void ServeByName(std::vector<gid_t> groups = {}) {
    options_.offer.datasets = {{"flowers", folder_.At("flowers"), groups},
                               {"trees", folder_.At("trees"), {}}};
    catalog_.emplace(options_);
  }

  absl::StatusOr<Catalog::State> Open(const std::string& dataset, const Opener& opener = {}) {
    std::promise<absl::StatusOr<Catalog::State>> answer;
    catalog_->Open(dataset, opener, [&](absl::StatusOr<Catalog::State> state) {
      answer.set_value(std::move(state));
    });
    return answer.get_future().get();
  }

  absl::StatusOr<rpc::IndexProgress> Index(const std::string& dataset,
                                           const Opener& opener = {.is_operator = true}) {
    std::promise<absl::StatusOr<rpc::IndexProgress>> end;
    catalog_->Index(
        dataset, opener, [] { return false; },
        [&](absl::StatusOr<rpc::IndexProgress> progress) {
          if (!progress.ok() || progress->done) end.set_value(std::move(progress));
        });
    return end.get_future().get();
  }

  testing::TempFolder folder_;
  Catalog::Options options_{
      .any_path = false, .state_dir = folder_.At("state"), .new_parsers = source::DirectParsers};
  std::optional<Catalog> catalog_;
};

TEST_F(CatalogAccessTest, AnUnknownNameIsToldTheKnownOnes) {
  ServeByName();

  const auto state = Open("birds");

  EXPECT_EQ(state.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(state.status()), AllOf(HasSubstr("'birds'"), HasSubstr("flowers, trees")));
}

TEST_F(CatalogAccessTest, APathIsForPrivateDaemonsAlone) {
  ServeByName();

  const auto state = Open(folder_.At("flowers"));

  EXPECT_EQ(state.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(MessageOf(state.status()), HasSubstr("only by name"));
}

TEST_F(CatalogAccessTest, ADatasetForAGroupIsForItsMembersAndOperatorsAndRootIsNeither) {
  ServeByName({4711, 4712});

  EXPECT_TRUE(Open("flowers", {.uid = 1000, .groups = {1000, 4712}}).ok());
  EXPECT_TRUE(Open("flowers", {.uid = 1000, .groups = {1000}, .is_operator = true}).ok());
  EXPECT_EQ(Open("flowers", {.uid = 0, .groups = {0}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CatalogAccessTest, WhoMayNotOpenADatasetIsToldWhatIsSaidOfOnesThatAreNotThere) {
  ServeByName({4711});
  const Opener stranger = {.uid = 1000, .groups = {1000}};

  const std::string hidden = MessageOf(Open("flowers", stranger).status());
  const std::string absent = MessageOf(Open("nothing", stranger).status());

  EXPECT_EQ(absl::StrReplaceAll(hidden, {{"flowers", "nothing"}}), absent);
  EXPECT_THAT(hidden, AllOf(HasSubstr("user 1000"), HasSubstr("known are: trees;"),
                            HasSubstr("groups decide who may open it")));
}

TEST_F(CatalogAccessTest, AListIsOfWhatOneMayOpen) {
  ServeByName({4711});
  ASSERT_TRUE(Open("flowers", {.is_operator = true}).ok());
  ASSERT_TRUE(Open("synthetic:8x9x3").ok());

  const auto list = catalog_->List(Opener{.uid = 1000, .groups = {1000}});

  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "trees");
  EXPECT_THAT(list[1].name, HasSubstr("synthetic"));
  EXPECT_EQ(catalog_->List(Opener{.uid = 1000, .groups = {4711}}).size(), 3u);
  EXPECT_EQ(catalog_->List(Opener{.is_operator = true}).size(), 3u);
}

TEST_F(CatalogAccessTest, WhatTheConfigurationNamesNoMoreIsForOperatorsToSee) {
  ServeByName();
  const Catalog::State held = Open("flowers").value();

  catalog_->SetOffer({.datasets = {{"trees", folder_.At("trees"), {}}}, .faults = {}});

  EXPECT_EQ(catalog_->List(Opener{.uid = 1000}).size(), 1u);
  EXPECT_EQ(catalog_->List(Opener{.is_operator = true}).size(), 2u);
}

TEST_F(CatalogAccessTest, TheOperatorIndexesWhateverTheGroupsAndOthersWhatTheyMayOpen) {
  ServeByName({4711});

  EXPECT_EQ(Index("flowers", {.uid = 1000, .groups = {1000}}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(Index("flowers", {.uid = 1000, .groups = {4711}}).ok());
  EXPECT_TRUE(Index("flowers").ok());
}

TEST_F(CatalogAccessTest, TheListHasNamedDatasetsBeforeAndAfterTheyAreOpened) {
  ServeByName();
  options_.offer.datasets[0].path = folder_.At("flowers/");  // the way people write it
  catalog_.emplace(options_);

  ASSERT_EQ(catalog_->List().size(), 2u);
  EXPECT_EQ(catalog_->List()[0].state, nullptr);
  const Catalog::State state = Open("flowers").value();

  ASSERT_EQ(catalog_->List().size(), 2u);
  EXPECT_EQ(catalog_->List()[0].name, "flowers");
  EXPECT_EQ(catalog_->List()[0].state, state);
  EXPECT_EQ(catalog_->List()[1].state, nullptr);
}

TEST_F(CatalogAccessTest, NothingOutsideTheRootsIsOpened) {
  options_.roots = {folder_.At("flowers")};
  options_.any_path = true;
  folder_.Write("elsewhere/daisy/0.jpg", "photograph");
  catalog_.emplace(options_);

  EXPECT_EQ(Open(folder_.At("elsewhere")).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(Open(folder_.At("flowers")).ok());
}

}  // namespace
}  // namespace penstock::app
