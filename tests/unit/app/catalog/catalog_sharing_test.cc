// What is shared when a dataset is opened again, and which bad samples are remembered.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "server/app/catalog/catalog.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using CatalogSharingTest = CatalogRig;

TEST_F(CatalogSharingTest, BadSamplesOfAnEarlierRunCountFromTheStart) {
  {
    const Catalog::State state = Open(folder_.At("flowers")).value();
    state->quarantine.Add({.sample = 1,
                           .path = "p",
                           .fault = base::Fault::kTimeout,
                           .stamp = state->dataset->stamp(1)});
    ASSERT_TRUE(state->quarantine.Save().ok());
  }
  catalog_.reset();

  const Catalog::State state = Open(folder_.At("flowers")).value();

  EXPECT_TRUE(state->quarantine.Contains(1));
  EXPECT_EQ(state->policy.bad_samples(), 1u);
}

// Reopening a dataset with many files on a network doesn't check all of them. The state is shared
// only if no file with a row in a slot changed; the other files are checked when they are read.
TEST_F(CatalogSharingTest, WhatWasNotLookedAtIsSharedWhileTheFilesOfRowsInSlotsAreWhatTheyWere) {
  std::vector<uint64_t> in_slots;
  options_.look_for = base::Duration::zero();
  options_.in_slots = [&](const feed::DatasetState&) { return in_slots; };
  const Catalog::State state = Open(folder_.At("flowers")).value();
  in_slots = {0, 2};
  EXPECT_EQ(Open(folder_.At("flowers")).value(), state);

  const std::string file = state->dataset->path(0);
  const auto time = std::filesystem::last_write_time(file);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).put('?');
  std::filesystem::last_write_time(file, time);

  in_slots = {1, 2};
  EXPECT_EQ(Open(folder_.At("flowers")).value(), state);
  in_slots = {0};
  EXPECT_NE(Open(folder_.At("flowers")).value(), state);
}

// All ranks ask before the first check begins.
TEST_F(CatalogSharingTest, RanksThatOpenAFolderTogetherCostOneLookAtItsFiles) {
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::promise<void> begun;
  catalog().Open(folder_.At("flowers"), {}, [gone, &begun](const auto&) {  // delays the others
    begun.set_value();
    gone.wait();
  });
  begun.get_future().wait();
  std::vector<std::future<Catalog::State>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    auto answer = std::make_shared<std::promise<Catalog::State>>();
    ranks.push_back(answer->get_future());
    catalog().Open(folder_.At("flowers"), {},
                   [answer](const auto& state) { answer->set_value(state.value()); });
  }
  go.set_value();

  const Catalog::State first = ranks[0].get();
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(ranks[rank].get(), first);

  EXPECT_EQ(catalog().examinations(), 2u);  // one for the delaying call, one for all ranks
}

TEST_F(CatalogSharingTest, WhatWasNotLookedAtIsNotSharedWhereNobodyKnowsTheSlots) {
  options_.look_for = base::Duration::zero();
  const Catalog::State state = Open(folder_.At("flowers")).value();
  EXPECT_NE(Open(folder_.At("flowers")).value(), state);
}

// The sample may have been repaired: its file is no longer the one on which workers timed out.
TEST_F(CatalogSharingTest, ABadSampleWhoseFileWasReplacedIsTriedAgain) {
  {
    const Catalog::State state = Open(folder_.At("flowers")).value();
    state->quarantine.Add({.sample = 1,
                           .path = "p",
                           .fault = base::Fault::kTimeout,
                           .stamp = state->dataset->stamp(1) + 1});
    ASSERT_TRUE(state->quarantine.Save().ok());
  }
  catalog_.reset();

  const Catalog::State state = Open(folder_.At("flowers")).value();

  EXPECT_EQ(state->quarantine.quarantined(), 0u);
  EXPECT_EQ(state->quarantine.version(), 2u);
  EXPECT_EQ(state->policy.bad_samples(), 0u);
}

// It says nothing about workers, so it does not count against max_quarantined.
TEST_F(CatalogSharingTest, ASampleThatAGpuFailedOnIsKnownAfterARestartButNotBad) {
  {
    const Catalog::State state = Open(folder_.At("flowers")).value();
    state->quarantine.Add({.sample = 1,
                           .path = "p",
                           .fault = base::Fault::kNotByGpu,
                           .stamp = state->dataset->stamp(1),
                           .users = {1001}});
    ASSERT_TRUE(state->quarantine.Save().ok());
  }
  catalog_.reset();

  const Catalog::State state = Open(folder_.At("flowers")).value();

  EXPECT_TRUE(state->quarantine.IsForWorkers(1, 1001));
  EXPECT_EQ(state->policy.bad_samples() + state->PolicyOf(1001).bad_samples(), 0u);
}

}  // namespace
}  // namespace penstock::app
