// Access control in the catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "server/app/catalog/catalog.h"
#include "tests/support/message_of.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CatalogAccessTest : public CatalogRig {
 protected:
  CatalogAccessTest() {
    MakeDataset("trees", 1);
    options_.any_path = false;
  }
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

  const auto list = catalog().List(Opener{.uid = 1000, .groups = {1000}});

  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].name, "trees");
  EXPECT_EQ(catalog().List(Opener{.uid = 1000, .groups = {4711}}).size(), 2u);
  EXPECT_EQ(catalog().List(Opener{.is_operator = true}).size(), 2u);
}

TEST_F(CatalogAccessTest, ATextOfSyntheticRowsIsForOperatorsToSee) {
  ServeByName();
  const Catalog::State held = Open("synthetic:8x9x3,seed=5", {.uid = 1001}).value();

  const auto all = catalog().List(Opener{.is_operator = true});

  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(all[2].name, HasSubstr("seed=5"));
  EXPECT_EQ(catalog().List(Opener{.uid = 1000}).size(), 2u);
}

TEST_F(CatalogAccessTest, WhatTheConfigurationNamesNoMoreIsForOperatorsToSee) {
  ServeByName();
  const Catalog::State held = Open("flowers").value();

  catalog().SetOffer({.datasets = {{"trees", folder_.At("trees"), {}}}, .faults = {}});

  EXPECT_EQ(catalog().List(Opener{.uid = 1000}).size(), 1u);
  EXPECT_EQ(catalog().List(Opener{.is_operator = true}).size(), 2u);
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

  ASSERT_EQ(catalog().List().size(), 2u);
  EXPECT_EQ(catalog().List()[0].state, nullptr);
  const Catalog::State state = Open("flowers").value();

  ASSERT_EQ(catalog().List().size(), 2u);
  EXPECT_EQ(catalog().List()[0].name, "flowers");
  EXPECT_EQ(catalog().List()[0].state, state);
  EXPECT_EQ(catalog().List()[1].state, nullptr);
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
