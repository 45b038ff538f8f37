// The catalogue with real folders while datasets don't answer. Their files need not be photographs.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "server/app/catalog/catalog.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using CatalogWaitsTest = CatalogRig;

// Opens a dataset and blocks in the callback until this object is destroyed. Meanwhile it occupies
// the dataset's desk (its job queue) and a thread.
class Busy {
 public:
  Busy(Catalog& catalog, const std::string& dataset, uid_t user = 0) {
    catalog.Open(dataset, {.uid = user}, [this](const absl::StatusOr<Catalog::State>&) {
      begun_.set_value();
      end_.get_future().wait();
      ended_.set_value();
    });
    begun_.get_future().wait();
  }
  ~Busy() {
    end_.set_value();
    ended_.get_future().wait();
  }

 private:
  std::promise<void> begun_, end_, ended_;
};

TEST_F(CatalogWaitsTest, ADatasetThatDoesNotComeBackHoldsUpNoOther) {
  MakeDataset("trees", 2);
  const Busy busy(catalog(), folder_.At("flowers"));

  EXPECT_TRUE(Open(folder_.At("trees")).ok());
  EXPECT_TRUE(Index(folder_.At("trees")).ok());
  EXPECT_TRUE(catalog().busy());
}

TEST_F(CatalogWaitsTest, WhoeverAsksForTheSameMeanwhileIsServedTogether) {
  constexpr int kRanks = 8;
  std::promise<void> all;
  std::atomic<int> answered = 0;
  std::set<Catalog::State> states;
  base::Mutex mutex;
  {
    const Busy busy(catalog(), folder_.At("flowers"));
    for (int rank = 0; rank < kRanks; ++rank)
      catalog().Open(folder_.At("flowers"), {}, [&](absl::StatusOr<Catalog::State> state) {
        base::MutexLock lock(mutex);
        states.insert(*state);
        if (++answered == kRanks) all.set_value();
      });
    EXPECT_EQ(answered, 0);
  }
  all.get_future().wait();
  catalog().Stop();  // so that no thread holds the mutex any more

  EXPECT_EQ(states.size(), 1u);
  EXPECT_EQ(catalog().examinations(), 2u);  // one for the first call, one for all others
}

// An opener whose parsers say when they begin, and then wait until they are cancelled.
TEST_F(CatalogWaitsTest, AnOpeningIsCancelledWhenTheLastOfItsCallersHasLeft) {
  folder_.Write("x.npy", "not looked at");
  std::promise<void> begun;
  std::atomic<bool> first_left = false, second_left = false, looked_again = false;
  options_.new_parsers = [&](const std::function<bool()>& cancelled) {
    begun.set_value();
    while (!cancelled()) looked_again = true;
    return source::DirectParsers();
  };
  std::promise<absl::Status> first, second;
  const auto answer = [](std::promise<absl::Status>& to) {
    return [&to](const absl::StatusOr<Catalog::State>& state) { to.set_value(state.status()); };
  };
  catalog().Open(folder_.At("x.npy"), {}, answer(first), [&] { return first_left.load(); });
  begun.get_future().wait();
  catalog().Open(folder_.At("x.npy"), {}, answer(second), [&] { return second_left.load(); });

  first_left = true;
  looked_again = false;
  auto ended = first.get_future();
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_TRUE(looked_again);
  second_left = true;

  EXPECT_FALSE(ended.get().ok());
  EXPECT_TRUE(absl::IsCancelled(second.get_future().get()));  // it is not even begun
}

TEST_F(CatalogWaitsTest, AUserWhoseDatasetsDoNotComeBackLeavesPlacesForOthers) {
  options_.desks = {.most_threads = 3, .most_of_a_user = 2};
  for (const char* name : {"a", "b", "c", "d"}) MakeDataset(name, 1);
  // The third call is answered after the first two have ended, which is after this test.
  const auto third = std::make_shared<std::atomic<bool>>(false);
  const Busy first(catalog(), folder_.At("a"), 1000), second(catalog(), folder_.At("b"), 1000);
  catalog().Open(folder_.At("c"), {.uid = 1000},
                 [third](const absl::StatusOr<Catalog::State>&) { *third = true; });

  EXPECT_TRUE(Open(folder_.At("d"), {.uid = 2000}).ok());
  EXPECT_FALSE(*third);
}

TEST_F(CatalogWaitsTest, WhatReadsWaitsBehindNoOpening) {
  const Catalog::State state = Open(folder_.At("flowers")).value();
  const Busy busy(catalog(), folder_.At("flowers"));
  std::promise<absl::Status> read;

  catalog().Read(*state, {}, [&](const absl::Status& status) { read.set_value(status); });

  EXPECT_TRUE(read.get_future().get().ok());
}

}  // namespace
}  // namespace penstock::app
