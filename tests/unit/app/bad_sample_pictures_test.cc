// Pictures of bad samples: which are read, what is said instead, and that nobody waits for storage.
#include "server/app/operator/bad_sample_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "tests/support/fakes/fake_dataset.h"

namespace penstock::app {
namespace {

using status::HttpPage;
using status::HttpVerdict;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kJpeg = "\xff\xd8\xff, as long as it is";

testing::FakeDataset::Bytes ToBytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::shared_ptr<const source::Dataset> DatasetWith(testing::FakeDataset::Files files) {
  return std::make_shared<testing::FakeDataset>(1000, std::move(files));
}

// The test decides what is found, and when a read returns.
class BadSamplePicturesTest : public ::testing::Test {
 protected:
  ~BadSamplePicturesTest() override { hold_ = false; }

  void Make(BadSamplePictures::Options options = {}) {
    pictures_.emplace(
        [this](const status::BadSampleName& name, const BadSamplePictures::Done& done) {
          ++looks_;
          if (!runner_answers_) return runner_takes_;
          done(name.dataset == "flowers" ? found_ : absl::NotFoundError("no such dataset"));
          return true;
        },
        options);
  }
  HttpPage Ask(int sample, const std::string& dataset = "flowers") {
    return pictures_->Answer({.verdict = HttpVerdict::kPage,
                              .path = status::kBadSamplePath,
                              .query = absl::StrCat("dataset=", dataset, "&sample=", sample)});
  }
  // Whether it holds within some seconds, also on a busy machine.
  static bool Soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }
  HttpPage Await(int sample, const std::string& dataset = "flowers") {
    for (;;) {
      HttpPage page = Ask(sample, dataset);
      if (!page.is_pending) return page;
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  std::atomic<int> looks_ = 0, reads_ = 0;
  std::atomic<bool> hold_ = false;
  bool runner_answers_ = true, runner_takes_ = true;
  absl::StatusOr<BadSamplePictures::Dataset> found_ = DatasetWith([this](uint64_t) {
    ++reads_;
    while (hold_) std::this_thread::sleep_for(milliseconds(1));
    return ToBytes(kJpeg);
  });
  std::optional<BadSamplePictures> pictures_;
};

TEST_F(BadSamplePicturesTest, TheStoredBytesComeAsTheyAre) {
  Make();

  const HttpPage page = Await(7);

  EXPECT_EQ(page.verdict, HttpVerdict::kPage);
  EXPECT_EQ(page.content.type, "image/jpeg");
  EXPECT_EQ(*page.body, kJpeg);
}

TEST_F(BadSamplePicturesTest, WhatIsNotInTheListIsNotRead) {
  Make();

  const HttpPage other = Await(7, "animals");
  EXPECT_EQ(other.verdict, HttpVerdict::kNotFound);
  EXPECT_EQ(*other.body, "no such dataset\n");

  found_ = absl::NotFoundError("the list of bad samples does not have this one");
  EXPECT_EQ(Await(7).verdict, HttpVerdict::kNotFound);
  EXPECT_EQ(reads_, 0);
}

TEST_F(BadSamplePicturesTest, AQueryThatNamesNoSampleIsNotLookedFor) {
  Make();

  const HttpPage page = pictures_->Answer({.query = "sample=7"});

  EXPECT_EQ(page.verdict, HttpVerdict::kNotFound);
  EXPECT_THAT(*page.body, HasSubstr("dataset=NAME&sample=NUMBER"));
  EXPECT_EQ(looks_, 0);
}

TEST_F(BadSamplePicturesTest, OfAStorageThatHangsNobodyWaitsLongerThanThePatience) {
  Make({.patience = milliseconds(100)});
  hold_ = true;

  EXPECT_TRUE(Ask(7).is_pending);
  const HttpPage page = Await(7);

  EXPECT_EQ(page.verdict, HttpVerdict::kUnavailable);
  EXPECT_EQ(*page.body, "the storage has not answered for 100 ms; try again later\n");
}

// More asked for than may wait at desks.
TEST_F(BadSamplePicturesTest, AStorageThatHangsLeavesThreadsForOtherDatasets) {
  Make({.patience = milliseconds(10), .reads = {.per_second = 1000, .burst = 1000}});
  hold_ = true;
  while (reads_ == 0) Await(1);
  for (int sample = 2; sample < 30; ++sample)
    EXPECT_EQ(Await(sample).verdict, HttpVerdict::kUnavailable);
  EXPECT_EQ(reads_, 1);

  found_ = DatasetWith([](uint64_t) { return ToBytes(kJpeg); });

  EXPECT_TRUE(Soon([this] { return Await(4).verdict == HttpVerdict::kPage; }));
}

TEST_F(BadSamplePicturesTest, ARunnerThatIsStuckOrEndsIsNamed) {
  Make({.patience = milliseconds(50)});
  runner_answers_ = false;
  EXPECT_EQ(*Await(1).body, "the main loop has not answered for 50 ms; try again later\n");

  runner_takes_ = false;
  EXPECT_EQ(Await(2).verdict, HttpVerdict::kUnavailable);
}

TEST_F(BadSamplePicturesTest, WhoeverAsksForTheSameMeanwhileWaitsForTheSameRead) {
  Make();
  hold_ = true;
  EXPECT_TRUE(Ask(7).is_pending);
  EXPECT_TRUE(Ask(7).is_pending);
  hold_ = false;

  EXPECT_EQ(Await(7).verdict, HttpVerdict::kPage);
  EXPECT_EQ(reads_, 1);
}

TEST_F(BadSamplePicturesTest, OnlySoManyAreInMemoryAtOnceAndNoneThatIsSent) {
  Make({.most_at_once = 2});
  HttpPage one = Await(1);
  const HttpPage other = Await(2);

  const HttpPage refused = Await(3);
  EXPECT_EQ(refused.verdict, HttpVerdict::kUnavailable);
  EXPECT_THAT(*refused.body, StartsWith("2 pictures are being read or sent"));

  const std::weak_ptr<const std::string> bytes = one.body;
  one = {};  // sent
  EXPECT_TRUE(Soon([&] { return bytes.expired(); }));
  EXPECT_EQ(Await(3).verdict, HttpVerdict::kPage);
}

TEST_F(BadSamplePicturesTest, OnlySoManyAreReadInASecond) {
  Make({.reads = {.per_second = 1, .burst = 2}});
  const auto begun = std::chrono::steady_clock::now();
  int sample = 0;
  HttpPage page;
  do {
    page = Await(++sample);
  } while (page.verdict == HttpVerdict::kPage);

  EXPECT_THAT(*page.body, StartsWith("too many pictures are asked for"));
  EXPECT_EQ(reads_, sample - 1);
  const auto passed = std::chrono::steady_clock::now() - begun;
  EXPECT_LE(reads_, 3 + std::chrono::duration_cast<std::chrono::seconds>(passed).count());
}

TEST_F(BadSamplePicturesTest, WhatIsNotReadUsesUpNoReads) {
  Make({.reads = {.per_second = 1, .burst = 1}});
  for (int sample = 0; sample < 20; ++sample) Await(sample, "animals");

  EXPECT_EQ(Await(1).verdict, HttpVerdict::kPage);
}

TEST_F(BadSamplePicturesTest, AtTheEndReadsThatHaveNotBegunAreDropped) {
  Make({.desks = {.most_threads = 1, .most_of_a_user = 1, .most_waiting = 4}});
  hold_ = true;
  Ask(1);
  while (reads_ == 0) std::this_thread::yield();
  found_ = DatasetWith([this](uint64_t) {
    ++reads_;
    return ToBytes(kJpeg);
  });
  Ask(2);  // waits for the thread
  std::thread storage([this] {
    std::this_thread::sleep_for(milliseconds(500));  // long after the end has begun
    hold_ = false;
  });

  pictures_.reset();

  EXPECT_EQ(reads_, 1);
  storage.join();
}

TEST_F(BadSamplePicturesTest, AReadThatFailsIsSaid) {
  found_ = DatasetWith([](uint64_t) { return absl::UnavailableError("reading '/a': EIO"); });
  Make();

  const HttpPage page = Await(7);

  EXPECT_EQ(page.verdict, HttpVerdict::kUnavailable);
  EXPECT_EQ(*page.body, "cannot be read: reading '/a': EIO\n");
}

}  // namespace
}  // namespace penstock::app
