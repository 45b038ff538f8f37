// Full digests: computed once for all callers, and cancelled when nobody waits any more.
#include "server/app/catalog/content_digests.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace penstock::app {
namespace {

// A dataset with as many pieces of content as the test says. Reading one may block until the test
// lets it continue.
class Pieces final : public source::Dataset {
 public:
  explicit Pieces(uint64_t pieces) : pieces_(pieces) {}
  absl::string_view kind() const override { return "pieces"; }
  uint64_t samples() const override { return 1; }
  uint64_t digest() const override { return 1; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return ""; }
  uint64_t content_pieces() const override { return pieces_; }
  absl::Status AddContent(uint64_t piece, source::Sha256& sum) const override {
    ++read;
    while (hold) std::this_thread::yield();
    sum.Add(piece);
    return absl::OkStatus();
  }

  mutable std::atomic<uint64_t> read{0};
  std::atomic<bool> hold{false};

 private:
  const uint64_t pieces_;
  const std::vector<std::string> classes_;
};

class ContentDigestsTest : public ::testing::Test {
 protected:
  using Answer = std::future<absl::StatusOr<std::string>>;
  Answer Ask(std::shared_ptr<const source::Dataset> dataset, const std::atomic<bool>& cancelled,
             uint64_t user = 0) {
    return AskOf(digests_, std::move(dataset), cancelled, user);
  }
  static Answer AskOf(ContentDigests& digests, std::shared_ptr<const source::Dataset> dataset,
                      const std::atomic<bool>& cancelled, uint64_t user) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<std::string>>>();
    Answer answer = promise->get_future();
    digests.Ask(
        std::move(dataset), user, [&cancelled] { return cancelled.load(); },
        [promise](absl::StatusOr<std::string> digest) { promise->set_value(std::move(digest)); });
    return answer;
  }
  static bool Comes(const Answer& answer) {
    return answer.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }

  std::atomic<bool> no_{false}, cancelled_{false};
  ContentDigests digests_{{.threads = 2, .most_askers_of_a_user = 3}};
};

TEST_F(ContentDigestsTest, OneIsMadeOnceAsLongAsTheDatasetIsOpen) {
  const auto dataset = std::make_shared<Pieces>(5);

  const absl::StatusOr<std::string> first = Ask(dataset, no_).get();
  const absl::StatusOr<std::string> second = Ask(dataset, no_).get();

  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*second, *first);
  EXPECT_EQ(dataset->read, 5u);
  EXPECT_NE(*Ask(std::make_shared<Pieces>(6), no_).get(), *first);
}

TEST_F(ContentDigestsTest, WhoeverAsksMeanwhileWaitsForTheSame) {
  const auto dataset = std::make_shared<Pieces>(3);
  dataset->hold = true;
  Answer one = Ask(dataset, no_), other = Ask(dataset, no_);
  dataset->hold = false;

  EXPECT_EQ(*one.get(), *other.get());
  EXPECT_EQ(dataset->read, 3u);
}

TEST_F(ContentDigestsTest, ItIsBrokenOffWhenAllWhoAskedHaveGone) {
  const auto dataset = std::make_shared<Pieces>(1'000'000);
  dataset->hold = true;
  Answer answer = Ask(dataset, cancelled_);
  while (dataset->read == 0) std::this_thread::yield();
  cancelled_ = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(250));  // checked every 100 ms
  dataset->hold = false;

  EXPECT_TRUE(absl::IsCancelled(answer.get().status()));
  EXPECT_LT(dataset->read, 1'000'000u);
}

TEST_F(ContentDigestsTest, ADatasetWhoseStorageDoesNotAnswerHoldsUpItsOwnAskersAlone) {
  const auto hung = std::make_shared<Pieces>(1);
  hung->hold = true;
  Answer waits = Ask(hung, no_, 1000);
  while (hung->read == 0) std::this_thread::yield();

  EXPECT_TRUE(Ask(std::make_shared<Pieces>(2), no_, 1000).get().ok());
  EXPECT_TRUE(Ask(std::make_shared<Pieces>(3), no_, 2000).get().ok());
  hung->hold = false;
  EXPECT_TRUE(waits.get().ok());
}

TEST_F(ContentDigestsTest, AUserWhoseDatasetsDoNotAnswerLeavesPlacesForOthers) {
  std::vector<std::shared_ptr<Pieces>> hung;
  std::vector<Answer> answers;
  for (int i = 0; i < 3; ++i) {
    hung.push_back(std::make_shared<Pieces>(1));
    hung.back()->hold = true;
    answers.push_back(Ask(hung.back(), no_, 1000));
  }

  EXPECT_TRUE(
      absl::IsResourceExhausted(Ask(std::make_shared<Pieces>(2), no_, 1000).get().status()));
  EXPECT_TRUE(Ask(std::make_shared<Pieces>(2), no_, 2000).get().ok());
  for (const auto& each : hung) each->hold = false;
  for (Answer& each : answers) EXPECT_TRUE(each.get().ok());
}

TEST_F(ContentDigestsTest, OneThatWaitsForItsUsersLimitIsMadeOnceForAnotherWhoAsksAndForBoth) {
  std::vector<std::shared_ptr<Pieces>> hung;
  std::vector<Answer> answers;
  for (int i = 0; i < 2; ++i) {
    hung.push_back(std::make_shared<Pieces>(1));
    hung.back()->hold = true;
    answers.push_back(Ask(hung.back(), no_, 1000));
  }
  const auto good = std::make_shared<Pieces>(3);
  Answer first = Ask(good, no_, 1000);
  Answer other = Ask(good, no_, 2000);

  const bool both = Comes(other) && Comes(first);
  for (const auto& each : hung) each->hold = false;

  EXPECT_TRUE(both);
  EXPECT_EQ(*first.get(), *other.get());
  for (Answer& each : answers) EXPECT_TRUE(each.get().ok());
  EXPECT_TRUE(Ask(std::make_shared<Pieces>(1), no_, 1000).get().ok());  // behind what is queued
  EXPECT_EQ(good->read, 3u);
}

TEST_F(ContentDigestsTest, AUserWhoseQueueIsFullIsRefusedAndOthersAreNot) {
  ContentDigests digests{{.desks = {.most_of_a_user = 1, .most_waiting_of_a_user = 1}}};
  const auto hung = std::make_shared<Pieces>(1), good = std::make_shared<Pieces>(2);
  hung->hold = true;
  Answer hangs = AskOf(digests, hung, no_, 1000);
  Answer waits = AskOf(digests, std::make_shared<Pieces>(3), no_, 1000);

  Answer refused = AskOf(digests, good, no_, 1000);
  Answer other = AskOf(digests, good, no_, 2000);

  EXPECT_TRUE(absl::IsResourceExhausted(refused.get().status()));
  EXPECT_TRUE(other.get().ok());
  hung->hold = false;
  EXPECT_TRUE(hangs.get().ok());
  EXPECT_TRUE(waits.get().ok());
}

TEST_F(ContentDigestsTest, NothingIsDigestedOnceItIsClosed) {
  digests_.Close();

  EXPECT_TRUE(absl::IsUnavailable(Ask(std::make_shared<Pieces>(1), no_).get().status()));
}

}  // namespace
}  // namespace penstock::app
