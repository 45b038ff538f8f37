#include "server/feed/engine/feed_book.h"

#include <gtest/gtest.h>

#include <utility>

#include "server/feed/fill/rows.h"
#include "tests/support/fakes/fake_dataset.h"

namespace penstock::feed {
namespace {

constexpr UserId kUser(1000), kOtherUser(1001);

std::shared_ptr<DatasetState> Opened() {
  return std::make_shared<DatasetState>(
      DatasetState{.name = "flowers",
                   .dataset = std::make_shared<testing::FakeDataset>(100),
                   .quarantine = {},
                   .policy = FaultPolicy(100)});
}

FeedSpec AnySpec() {
  FeedSpec spec;
  spec.dataset_digest = 1;
  spec.samples = 100;
  spec.seed = 7;
  return spec;
}

std::shared_ptr<const plan::GivenOrder> TwoSamples() {
  plan::GivenOrderBuilder builder(2);
  const uint64_t samples[] = {3, 1};
  EXPECT_TRUE(builder.Add(samples).ok());
  return std::make_shared<const plan::GivenOrder>(*builder.Finish());
}

TEST(FeedBookTest, TheSameUserDatasetAndSpecAreTheSameFeed) {
  FeedBook book;
  const auto dataset = Opened();

  EXPECT_EQ(book.IdOf(kUser, dataset, AnySpec()), book.IdOf(kUser, dataset, AnySpec()));
}

TEST(FeedBookTest, AnotherUserOrAnotherDatasetIsAnotherFeed) {
  FeedBook book;
  const auto dataset = Opened(), alike = Opened();
  const FeedId feed = book.IdOf(kUser, dataset, AnySpec());

  EXPECT_NE(book.IdOf(kOtherUser, dataset, AnySpec()), feed);
  EXPECT_NE(book.IdOf(kUser, alike, AnySpec()), feed);
}

TEST(FeedBookTest, EveryFieldOfTheSpecTellsFeedsApart) {
  FeedBook book;
  const auto dataset = Opened();
  std::vector<FeedSpec> specs(9, AnySpec());
  specs[1].seed = 8;
  specs[2].order = plan::Order::kShuffled;
  specs[3].range = plan::Range{.first = 1, .count = 99};
  specs[4].given = TwoSamples();
  specs[5].decoding.height = 32;
  specs[6].selection.fields = {1};
  specs[7].storage = source::Storage::kRows;
  specs[8].given = specs[4].given;
  specs[8].given_by = {.rank = 1, .ranks = 2};

  for (size_t i = 0; i < specs.size(); ++i)
    for (size_t j = 0; j < specs.size(); ++j)
      EXPECT_EQ(book.IdOf(kUser, dataset, specs[i]) == book.IdOf(kUser, dataset, specs[j]), i == j)
          << i << " " << j;
}

// The new dataset may have the old one's address.
TEST(FeedBookTest, ADatasetThatIsOpenedAnewIsAnotherFeed) {
  FeedBook book;
  auto dataset = Opened();
  const FeedId before = book.IdOf(kUser, dataset, AnySpec());

  dataset.reset();
  dataset = Opened();

  EXPECT_NE(book.IdOf(kUser, dataset, AnySpec()), before);
}

TEST(FeedBookTest, NobodySharesAFeedThatHasEnded) {
  FeedBook book;
  const auto dataset = Opened();
  const FeedId feed = book.IdOf(kUser, dataset, AnySpec());

  book.End(feed);

  const FeedId next = book.IdOf(kUser, dataset, AnySpec());
  EXPECT_NE(next, feed);
  EXPECT_EQ(book.IdOf(kUser, dataset, AnySpec()), next);
  book.Prune({});
  EXPECT_TRUE(book.entries().empty());
}

TEST(FeedBookTest, AnEntryStaysWhileSlotsAreKeyedByIt) {
  FeedBook book;
  const auto dataset = Opened();
  const FeedId feed = book.IdOf(kUser, dataset, AnySpec());

  book.Prune({feed});
  EXPECT_EQ(book.IdOf(kUser, dataset, AnySpec()), feed);

  book.Prune({});
  EXPECT_TRUE(book.entries().empty());
  EXPECT_NE(book.IdOf(kUser, dataset, AnySpec()), feed) << "a number is never used again";
}

TEST(FeedBookTest, AnEntryStaysWhileItsFeedLives) {
  FeedBook book;
  const auto dataset = Opened();
  const FeedId id = book.IdOf(kUser, dataset, AnySpec());
  const auto feed = std::make_shared<Feed>(
      Feed{.id = id, .spec = AnySpec(), .dataset = dataset, .failed = absl::OkStatus()});
  book.At(id).feed = feed;
  EXPECT_FALSE(book.HasIdle());

  book.Prune({});

  EXPECT_EQ(book.At(id).feed.lock(), feed);
}

TEST(FeedBookTest, AnEntryHoldsNoGivenOrder) {
  FeedBook book;
  const auto dataset = Opened();
  FeedSpec spec = AnySpec();
  spec.given = TwoSamples();
  std::weak_ptr<const plan::GivenOrder> order = spec.given;
  book.IdOf(kUser, dataset, spec);

  spec.given = nullptr;

  EXPECT_TRUE(order.expired());
}

}  // namespace
}  // namespace penstock::feed
