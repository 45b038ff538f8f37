// Names in the catalogue that refer to part of a dataset or to several datasets, and a busy
// catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/app/catalog/catalog.h"
#include "tests/support/message_of.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Serves "flowers", which has three files, and "trees".
class CatalogPartsTest : public CatalogRig {
 protected:
  CatalogPartsTest() { ServeByName(); }
};

TEST_F(CatalogPartsTest, WhileSomethingIsBeingOpenedItIsBusy) {
  std::promise<bool> busy;
  EXPECT_FALSE(catalog().busy());

  catalog().Open("flowers", {},
                 [&](const absl::StatusOr<Catalog::State>&) { busy.set_value(catalog().busy()); });

  EXPECT_TRUE(busy.get_future().get());
  catalog().Stop();
  EXPECT_FALSE(catalog().busy());
}

TEST_F(CatalogPartsTest, ANameForAPartMeansThatPartAndSharesWhatIsOpen) {
  options_.offer.datasets.push_back(options_.offer.datasets[0]);
  options_.offer.datasets.back().name = "last-flower";
  options_.offer.datasets.back().range = RangeText{.begin = 2, .end = 3};

  const auto whole = Open("flowers"), part = Open("last-flower");

  ASSERT_TRUE(whole.ok() && part.ok());
  EXPECT_EQ(*whole, *part);
  EXPECT_EQ(catalog().RangeOf("flowers", **whole).value(), (plan::Range{0, 3}));
  EXPECT_EQ(catalog().RangeOf("last-flower", **part).value(), (plan::Range{2, 1}));
}

TEST_F(CatalogPartsTest, ARangeThatReachesOutIsRefusedWithItsNameAndWhatThereIs) {
  options_.offer.datasets[0].range = RangeText{.begin = 2, .end = 4};
  const auto state = Open("flowers");
  ASSERT_TRUE(state.ok());

  const absl::Status status = catalog().RangeOf("flowers", **state).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), AllOf(HasSubstr("'flowers'"), HasSubstr("0 to 2")));
}

class CatalogMixtureTest : public CatalogPartsTest {
 protected:
  CatalogMixtureTest() { MakeDataset("trees", 10); }
  void Mix(std::vector<std::string> parts, uint64_t epoch_samples = 0) {
    options_.offer.datasets.push_back(
        {.name = "both",
         .path = "mixture:both",
         .mixture =
             NamedMixture{.parts = std::move(parts),
                          .plan = {.epoch_samples = epoch_samples, .schedule = {{0, {1, 1}}}}}});
  }
};

TEST_F(CatalogMixtureTest, WhoMayNotHaveAPartMayNotHaveTheMixture) {
  options_.offer.datasets[0].groups = {4711};
  Mix({"flowers", "trees"});

  const auto stranger = Open("both", {.uid = 1000, .groups = {1000}});

  EXPECT_EQ(stranger.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(stranger.status()),
              AllOf(HasSubstr("no dataset 'both'"), HasSubstr("known are: trees;")));
  EXPECT_TRUE(Open("both", {.uid = 1000, .groups = {4711}}).ok());
}

TEST_F(CatalogMixtureTest, APartThatCannotBeOpenedIsWhyTheMixtureCannot) {
  options_.offer.datasets[1].path = folder_.At("nothing");
  Mix({"flowers", "trees"});

  EXPECT_EQ(Open("both").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CatalogMixtureTest, ItIsMadeOfItsPartsAndOpenedOnce) {
  options_.offer.datasets[1].range = RangeText{.begin = 4, .end = 10};
  Mix({"flowers", "trees"});

  const auto first = Open("both"), again = Open("both");

  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, *again);
  const feed::DatasetState& state = **first;
  EXPECT_EQ(state.dataset->kind(), "mixture");
  EXPECT_EQ(state.dataset->samples(), 9u);
  EXPECT_EQ(state.mixture->epoch_samples(), 9u);
  EXPECT_THAT(state.dataset->path(3), HasSubstr("trees/daisy/4.jpg"));
  EXPECT_EQ(catalog().RangeOf("both", state).value(), (plan::Range{0, 9}));
}

TEST_F(CatalogMixtureTest, AnEpochHasAsManySamplesAsWasConfigured) {
  Mix({"flowers", "trees"}, 1000);

  const auto state = Open("both");

  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ((*state)->mixture->epoch_samples(), 1000u);
  EXPECT_EQ((*state)->dataset->samples(), 13u);
}

TEST_F(CatalogMixtureTest, APartThatChangedMakesAnotherMixture) {
  Mix({"flowers", "trees"});
  const auto before = Open("both");
  MakeDataset("trees", 11);

  const auto after = Open("both");

  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(*before, *after);
  EXPECT_EQ((*after)->dataset->samples(), 14u);
}

}  // namespace
}  // namespace penstock::app
