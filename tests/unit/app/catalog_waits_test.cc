// The catalogue with real folders while datasets don't answer. Their files need not be photographs.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "server/app/catalog/catalog.h"
#include "server/source/parse/directly.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::app {
namespace {

class CatalogWaitsTest : public ::testing::Test {
 protected:
  CatalogWaitsTest() { MakeDataset("flowers", 3); }

  void MakeDataset(const std::string& name, int files) {
    for (int i = 0; i < files; ++i)
      folder_.Write(absl::StrCat(name, "/daisy/", i, ".jpg"), absl::StrCat("photograph ", i));
  }

  // A private daemon's catalogue, unless the test changes `options_` first.
  Catalog& catalog() {
    if (!catalog_) catalog_.emplace(options_);
    return *catalog_;
  }

  absl::StatusOr<Catalog::State> Open(const std::string& dataset, const Opener& opener = {}) {
    std::promise<absl::StatusOr<Catalog::State>> answer;
    catalog().Open(dataset, opener, [&](absl::StatusOr<Catalog::State> state) {
      answer.set_value(std::move(state));
    });
    return answer.get_future().get();
  }

  // Indexes the dataset and returns the last progress report, or the error.
  absl::StatusOr<rpc::IndexProgress> Index(const std::string& dataset, bool cancelled = false) {
    std::promise<absl::StatusOr<rpc::IndexProgress>> end;
    catalog().Index(
        dataset, {}, [cancelled] { return cancelled; },
        [&](absl::StatusOr<rpc::IndexProgress> progress) {
          if (!progress.ok() || progress->done) end.set_value(std::move(progress));
        });
    return end.get_future().get();
  }

  testing::TempFolder folder_;
  Catalog::Options options_{
      .any_path = true, .state_dir = folder_.At("state"), .new_parsers = source::DirectParsers};
  std::optional<Catalog> catalog_;
};

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

  catalog().Read(*state, {}, [&](absl::Status status) { read.set_value(status); });

  EXPECT_TRUE(read.get_future().get().ok());
}

}  // namespace
}  // namespace penstock::app
