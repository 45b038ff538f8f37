#include "server/pyworkers/channel_endpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "common/posix/process.h"
#include "tests/unit/pyworkers/fake_worker.h"

namespace penstock::pyworkers {
namespace {

constexpr uint64_t kGranted = 65536;
constexpr shm::MakeRequest TenRows() {
  shm::MakeRequest request = {};
  request.rows = 10;
  request.granted = kGranted;
  return request;
}
constexpr shm::MakeRequest kTenRows = TenRows();

class EndpointTest : public testing::Test {
 protected:
  // Pushes a batch that the worker takes; returns its sequence.
  uint64_t Give() {
    EXPECT_TRUE(endpoint_.Push(kTenRows).ok());
    return worker_.Take()->sequence;
  }
  void ExpectLie(const FakeAnswer& answer) {
    ASSERT_TRUE(worker_.Answer(answer));
    EXPECT_EQ(endpoint_.Pop().status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(endpoint_.Pop().status(), endpoint_.status());  // permanently
  }

  ChannelEndpoint endpoint_ = *ChannelEndpoint::Make({.place = 3, .start = 2});
  FakeWorker worker_{endpoint_.memory()};
};

TEST_F(EndpointTest, TheWorkerGetsASealedChannelThatSaysWhoseItIs) {
  EXPECT_EQ(worker_.page().magic, shm::kPythonChannelMagic);
  EXPECT_EQ(worker_.page().version, shm::kPythonChannelVersion);
  EXPECT_EQ(worker_.page().place, 3u);
  EXPECT_EQ(worker_.page().start, 2u);
  EXPECT_EQ(::fcntl(endpoint_.memory().get(), F_GET_SEALS),
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

TEST_F(EndpointTest, RequestsAreNumberedAndAnsweredInOrder) {
  ASSERT_TRUE(endpoint_.Push(kTenRows).ok());
  ASSERT_TRUE(endpoint_.Push(kTenRows).ok());
  EXPECT_EQ(endpoint_.in_hand(), 2u);
  EXPECT_FALSE(endpoint_.Pop()->has_value());

  EXPECT_EQ(worker_.Take()->sequence, 1u);
  worker_.Done(1, 100);

  EXPECT_EQ(endpoint_.Pop()->value().bytes, 100u);
  EXPECT_EQ(endpoint_.in_hand(), 1u);
  EXPECT_EQ(worker_.Take()->sequence, 2u);
  worker_.Answer({.sequence = 2, .outcome = shm::MakeOutcome::kRaised, .row = 10, .bytes = 7});
  EXPECT_EQ(endpoint_.Pop()->value().row, 10u);
  EXPECT_EQ(endpoint_.in_hand(), 0u);
}

TEST_F(EndpointTest, ABatchThatNeedsRoomGoesOnOnceItIsGiven) {
  const uint64_t sequence = Give();
  worker_.NeedsRoom(sequence, 2 * kGranted);
  ASSERT_EQ(endpoint_.Pop()->value().bytes, 2 * kGranted);
  EXPECT_TRUE(endpoint_.awaits_room());
  EXPECT_EQ(endpoint_.in_hand(), 1u);

  ASSERT_TRUE(endpoint_.GiveRoom(3 * kGranted).ok());

  EXPECT_FALSE(endpoint_.awaits_room());
  const shm::MakeRequest room = *worker_.Take();
  EXPECT_EQ(room.kind, shm::MakeKind::kRoom);
  EXPECT_EQ(room.sequence, sequence);
  EXPECT_EQ(room.granted, 3 * kGranted);
  worker_.Done(sequence, 3 * kGranted);
  EXPECT_TRUE(endpoint_.Pop()->has_value());
}

TEST_F(EndpointTest, AnAnswerWithoutARequestIsALie) {
  ExpectLie({.sequence = 1, .outcome = shm::MakeOutcome::kDone, .bytes = 1});
}

TEST_F(EndpointTest, AnAnswerToAnotherBatchThanTheOldestIsALie) {
  ASSERT_TRUE(endpoint_.Push(kTenRows).ok());
  Give();
  ExpectLie({.sequence = 2, .outcome = shm::MakeOutcome::kDone, .bytes = 1});
}

TEST_F(EndpointTest, MoreBytesThanGrantedOrNoneAreALie) {
  const uint64_t sequence = Give();
  worker_.Done(sequence, kGranted);
  ASSERT_TRUE(endpoint_.Pop().ok());  // all of them may be used

  const uint64_t next = Give();
  ExpectLie({.sequence = next, .outcome = shm::MakeOutcome::kDone, .bytes = kGranted + 1});
}

TEST_F(EndpointTest, AnEmptyBatchIsALie) {
  ExpectLie({.sequence = Give(), .outcome = shm::MakeOutcome::kDone, .bytes = 0});
}

TEST_F(EndpointTest, AnExceptionBehindTheLastRowIsALie) {
  ExpectLie({.sequence = Give(), .outcome = shm::MakeOutcome::kRaised, .row = 11, .bytes = 1});
}

TEST_F(EndpointTest, AnUnknownOutcomeIsALie) {
  ExpectLie({.sequence = Give(), .outcome = static_cast<shm::MakeOutcome>(4), .bytes = 1});
}

TEST_F(EndpointTest, ANeedForWhatIsGrantedIsALie) {
  ExpectLie({.sequence = Give(), .outcome = shm::MakeOutcome::kNeedsRoom, .bytes = kGranted});
}

TEST_F(EndpointTest, AnAnswerBeforeRoomWasGivenIsALie) {
  const uint64_t sequence = Give();
  worker_.NeedsRoom(sequence, 2 * kGranted);
  ASSERT_TRUE(endpoint_.Pop().ok());
  ExpectLie({.sequence = sequence, .outcome = shm::MakeOutcome::kDone, .bytes = 1});
}

TEST_F(EndpointTest, ANeedThatWasRefusedIsNotRepeatedButAnErrorFollows) {
  uint64_t sequence = Give();
  worker_.NeedsRoom(sequence, 4 * kGranted);
  ASSERT_TRUE(endpoint_.Pop().ok());
  ASSERT_TRUE(endpoint_.GiveRoom(2 * kGranted).ok());
  worker_.Answer({.sequence = sequence, .outcome = shm::MakeOutcome::kRaised, .bytes = 9});
  ASSERT_TRUE(endpoint_.Pop().ok());

  worker_.Take();
  sequence = Give();  // the refusal was of the last batch
  worker_.NeedsRoom(sequence, 4 * kGranted);
  ASSERT_TRUE(endpoint_.Pop().ok());
  ASSERT_TRUE(endpoint_.GiveRoom(2 * kGranted).ok());
  ExpectLie({.sequence = sequence, .outcome = shm::MakeOutcome::kNeedsRoom, .bytes = 4 * kGranted});
}

TEST_F(EndpointTest, ABatchAsksForRoomOnlySoOften) {
  const uint64_t sequence = Give();
  uint64_t bytes = kGranted;
  for (uint32_t asked = 0; asked < kMaxRoomAsked; ++asked) {
    worker_.NeedsRoom(sequence, ++bytes);
    ASSERT_TRUE(endpoint_.Pop().ok());
    ASSERT_TRUE(endpoint_.GiveRoom(bytes).ok());
    worker_.Take();
  }
  ExpectLie({.sequence = sequence, .outcome = shm::MakeOutcome::kNeedsRoom, .bytes = bytes + 1});
}

TEST_F(EndpointTest, ImpossibleCountersBreakTheChannel) {
  worker_.page().answers.pushed = 1000;
  EXPECT_EQ(endpoint_.Pop().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(endpoint_.Push(kTenRows).code(), absl::StatusCode::kDataLoss);
}

TEST_F(EndpointTest, RequestsThatWereTakenBackBreakTheChannel) {
  absl::Status status;
  for (uint64_t sequence = 1; status.ok() && sequence <= 10; ++sequence) {
    status = endpoint_.Push(kTenRows);
    if (!status.ok()) break;
    worker_.Done(sequence, 1);  // without taking it
    ASSERT_TRUE(endpoint_.Pop().ok());
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST_F(EndpointTest, OnlyAWorkerThatSleepsIsWoken) {
  ASSERT_TRUE(endpoint_.Push(kTenRows).ok());
  EXPECT_FALSE(posix::IsGone(endpoint_.event_to_worker()));  // not readable

  shm::FallAsleep(worker_.page().worker_asleep);
  ASSERT_TRUE(endpoint_.Push(kTenRows).ok());

  EXPECT_TRUE(posix::IsGone(endpoint_.event_to_worker()));
}

TEST_F(EndpointTest, TheRowInHandIsOfTheOldestBatchOnceItIsStarted) {
  ASSERT_TRUE(endpoint_.Push(kTenRows).ok());
  EXPECT_FALSE(endpoint_.has_started_oldest());
  EXPECT_EQ(endpoint_.row_in_hand(), std::nullopt);

  worker_.Take();
  worker_.ReachRow(1, 4);
  EXPECT_TRUE(endpoint_.has_started_oldest());
  EXPECT_EQ(endpoint_.row_in_hand(), 4u);

  worker_.ReachRow(1, 10);  // all rows are made
  EXPECT_EQ(endpoint_.row_in_hand(), std::nullopt);
  worker_.ReachRow(2, 4);  // a lie
  EXPECT_EQ(endpoint_.row_in_hand(), std::nullopt);
}

// A worker that answers at random: whatever is accepted is possible.
TEST_F(EndpointTest, UnderRandomAnswersOnlyPossibleOnesAreAccepted) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    ChannelEndpoint endpoint = *ChannelEndpoint::Make({});
    FakeWorker worker(endpoint.memory());
    std::deque<uint64_t> given;  // the batches in hand, in order
    uint64_t sequence = 0, granted = kGranted;
    for (int step = 0; step < 40; ++step) {
      if (given.size() < kMaxInHand && random() % 2 == 0) {
        ASSERT_TRUE(endpoint.Push(kTenRows).ok());
        given.push_back(++sequence);
      }
      worker.Take();
      const FakeAnswer answer = {
          .sequence = random() % 8 == 0 ? random() % 4 : (given.empty() ? 0 : given.front()),
          .outcome = static_cast<shm::MakeOutcome>(1 + random() % (random() % 8 == 0 ? 4 : 3)),
          .row = static_cast<uint32_t>(random() % 12),
          .bytes = random() % 4 == 0 ? random() : random() % (granted + kGranted)};
      ASSERT_TRUE(worker.Answer(answer));
      const auto popped = endpoint.Pop();
      if (!popped.ok()) break;
      ASSERT_TRUE(popped->has_value());
      ASSERT_FALSE(given.empty());
      EXPECT_EQ((*popped)->sequence, given.front());
      if ((*popped)->outcome == shm::MakeOutcome::kNeedsRoom) {
        EXPECT_GT((*popped)->bytes, granted);
        granted += random() % (2 * kGranted);
        ASSERT_TRUE(endpoint.GiveRoom(granted).ok());
        worker.Take();
      } else {
        EXPECT_GE((*popped)->bytes, 1u);
        EXPECT_LE((*popped)->bytes, granted);
        EXPECT_TRUE((*popped)->outcome == shm::MakeOutcome::kDone || (*popped)->row <= 10);
        given.pop_front();
        granted = kGranted;
      }
      EXPECT_EQ(endpoint.in_hand(), given.size());
    }
  }
}

}  // namespace
}  // namespace penstock::pyworkers
