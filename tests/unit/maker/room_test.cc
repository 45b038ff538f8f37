// A batch that needs more room than it was granted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/maker/maker_daemon.h"

namespace penstock::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Code = absl::StatusCode;

class RoomTest : public ::testing::Test {
 protected:
  void SetUp() override {
    worker_ = end_.Enter().value();
    end_.SendSegment();
    end_.Push(WorkerEnd::Request(1));
    batch_ = worker_->Next(Soon()).value();
  }

  static shm::MakeRequest Room(uint64_t granted) {
    shm::MakeRequest room = WorkerEnd::Request(1);
    room.kind = shm::MakeKind::kRoom;
    room.granted = granted;
    return room;
  }

  WorkerEnd end_;
  std::unique_ptr<MakerWorker> worker_;
  BatchToMake batch_;
};

TEST_F(RoomTest, RoomThatIsThereIsNotAskedFor) {
  const auto room = worker_->AskForRoom(1000, base::TimePoint());

  ASSERT_TRUE(room.ok()) << room.status();
  EXPECT_EQ(room->size(), 1000u);
  EXPECT_FALSE(end_.Pop().has_value());
}

TEST_F(RoomTest, MoreIsGrantedAtTheSameAddressAlsoBehindARequestForTheNextBatch) {
  std::memcpy(batch_.room.data(), "begun", 5);
  end_.Push(WorkerEnd::Request(2));
  end_.Push(Room(3000));

  const auto room = worker_->AskForRoom(2000, Soon());

  ASSERT_TRUE(room.ok()) << room.status();
  EXPECT_EQ(room->data(), batch_.room.data());
  EXPECT_EQ(room->size(), 3000u);
  EXPECT_EQ(std::memcmp(room->data(), "begun", 5), 0);
  const auto needs = end_.Pop();
  ASSERT_TRUE(needs.has_value());
  EXPECT_EQ(needs->sequence, 1u);
  EXPECT_EQ(needs->outcome, shm::MakeOutcome::kNeedsRoom);
  EXPECT_EQ(needs->bytes, 2000u);
  EXPECT_TRUE(worker_->Done(3000).ok());
  EXPECT_EQ(end_.Pop()->bytes, 3000u);
  const auto next = worker_->Next(base::TimePoint());
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->sequence, 2u);
  EXPECT_EQ(next->room.size(), 1000u);
}

TEST_F(RoomTest, TooLittleIsSaidWithNumbersAndLeavesWhatThereIsForAnError) {
  end_.Push(Room(1500));

  const absl::Status status = worker_->AskForRoom(2048, Soon()).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("4 samples takes 2.0 KiB"), HasSubstr("pool.max")));
  EXPECT_EQ(worker_->room().size(), 1500u);
  EXPECT_TRUE(worker_->Raised(4, 1500).ok());
}

TEST_F(RoomTest, MoreThanTheFeedAllowsIsNotAskedFor) {
  const absl::Status status = worker_->AskForRoom(8001, Soon()).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("more than max_batch_bytes"));
  EXPECT_FALSE(end_.Pop().has_value());
  EXPECT_TRUE(worker_->Raised(4, 1).ok());
}

TEST_F(RoomTest, ADaemonThatDoesNotAnswerEndsTheWorker) {
  EXPECT_EQ(worker_->AskForRoom(2000, base::TimePoint()).status().code(), Code::kDeadlineExceeded);

  EXPECT_EQ(worker_->Done(1).code(), Code::kDeadlineExceeded);
}

TEST_F(RoomTest, ADaemonThatGrantsNonsenseIsNotBelieved) {
  for (const uint64_t granted : {uint64_t{999}, uint64_t{8001}}) {
    RoomTest_ADaemonThatGrantsNonsenseIsNotBelieved_Test other;
    other.SetUp();
    other.end_.Push(Room(granted));
    EXPECT_EQ(other.worker_->AskForRoom(2000, Soon()).status().code(), Code::kInternal) << granted;
  }
  shm::MakeRequest another = Room(3000);
  another.sequence = 2;
  end_.Push(another);
  EXPECT_THAT(worker_->AskForRoom(2000, Soon()).status().message(),
              HasSubstr("batch 1 is in hand"));
}

}  // namespace
}  // namespace penstock::client
