// A Python worker's side of its channel: entering, waiting, making, answering.
#include "client/src/maker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "common/shm/sleep.h"
#include "tests/unit/maker/maker_daemon.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Code = absl::StatusCode;

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto worker = end_.Enter();
    ASSERT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }

  WorkerEnd end_;
  std::unique_ptr<MakerWorker> worker_;
};

// The number of mappings of the test's segment in this process; one is the test's own.
size_t MappedSegments() {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    count += line.find("made-segment") != std::string::npos;
  }
  return count;
}

TEST_F(WorkerTest, ItEntersAtItsPlaceWithItsHostsToken) {
  EXPECT_EQ(end_.peer.role, doorway::Role::kWorker);
  EXPECT_EQ(end_.peer.maker.token, Token());
  EXPECT_EQ(end_.peer.maker.place, 3u);
  EXPECT_EQ(end_.peer.maker.start, 1u);
}

TEST_F(WorkerTest, ReadyIsSaidOnTheChannelAndNotified) {
  EXPECT_EQ(end_.channel.ready, 0u);

  worker_->Ready();

  EXPECT_EQ(end_.channel.ready, 1u);
  EXPECT_EQ(posix::Drain(end_.channel_memory.to_daemon), 1u);
}

TEST_F(WorkerTest, ABatchIsMadeInItsSlot) {
  const uint64_t ids[] = {40, 41, 42, 43};
  std::memcpy(end_.slot() + 64, ids, sizeof(ids));
  end_.SendSegment();
  end_.Push(WorkerEnd::Request(1));

  const auto batch = worker_->Next(Soon());
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->ids, ElementsAre(40, 41, 42, 43));
  EXPECT_EQ(batch->room.size(), 1000u);
  EXPECT_EQ(batch->most, 8000u);
  EXPECT_EQ(batch->attempt, 1u);
  EXPECT_EQ(batch->epoch, 5u);
  EXPECT_EQ(batch->seed, 6u);
  EXPECT_EQ(batch->key_first, 7u);
  EXPECT_EQ(batch->key_step, 8u);
  EXPECT_EQ(batch->stream, 2u);
  EXPECT_EQ(end_.channel.started, 1u);
  worker_->SetRow(2);
  EXPECT_EQ(shm::RowInHand(end_.channel.row, 1, 99), 2u);
  std::memcpy(batch->room.data(), "batch", 5);
  ASSERT_TRUE(worker_->Done(5).ok());

  EXPECT_EQ(std::memcmp(end_.slot() + 128, "batch", 5), 0);
  const auto answer = end_.Pop();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->sequence, 1u);
  EXPECT_EQ(answer->outcome, shm::MakeOutcome::kDone);
  EXPECT_EQ(answer->bytes, 5u);
  EXPECT_GT(answer->ended_ns, 0u);
  EXPECT_GT(end_.channel.busy_ns, 0u);
  EXPECT_TRUE(worker_->room().empty());
}

TEST_F(WorkerTest, AnExceptionIsAnsweredWithItsRow) {
  end_.SendSegment();
  end_.Push(WorkerEnd::Request(1));
  ASSERT_TRUE(worker_->Next(Soon()).ok());

  EXPECT_EQ(worker_->Raised(5, 10).code(), Code::kInvalidArgument);
  ASSERT_TRUE(worker_->Raised(4, 10).ok());  // none of the four

  const auto answer = end_.Pop();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->outcome, shm::MakeOutcome::kRaised);
  EXPECT_EQ(answer->row, 4u);
  EXPECT_EQ(answer->bytes, 10u);
  EXPECT_FALSE(end_.Pop().has_value());
}

TEST_F(WorkerTest, AnAnswerMustFitItsRoomAndItsBatchMustBeInHand) {
  end_.SendSegment();
  EXPECT_EQ(worker_->Done(5).code(), Code::kFailedPrecondition);
  EXPECT_EQ(worker_->AskForRoom(5, kNow).status().code(), Code::kFailedPrecondition);
  end_.Push(WorkerEnd::Request(1));
  ASSERT_TRUE(worker_->Next(Soon()).ok());

  EXPECT_EQ(worker_->Next(kNow).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(worker_->Done(0).code(), Code::kInvalidArgument);
  EXPECT_THAT(worker_->Done(1001).message(), HasSubstr("1001 bytes, expected 1 to 1000"));
  EXPECT_FALSE(end_.Pop().has_value());
  EXPECT_TRUE(worker_->Done(1000).ok());
}

TEST_F(WorkerTest, ASleepingWorkerIsWokenByARequest) {
  end_.SendSegment();
  EXPECT_EQ(worker_->Next(kNow).status().code(), Code::kDeadlineExceeded);
  end_.channel.worker_asleep = 0;
  auto next = std::async(std::launch::async, [this] { return worker_->Next(Soon()); });
  ASSERT_TRUE(Eventually([this] { return end_.channel.worker_asleep != 0; }));
  const base::TimePoint before = base::Now();

  end_.Push(WorkerEnd::Request(1));

  EXPECT_TRUE(next.get().ok());
  EXPECT_LT(base::Now() - before, kPatience / 2);  // rather than at its deadline
}

TEST_F(WorkerTest, OnlyADaemonThatSleepsIsNotified) {
  end_.SendSegment();
  end_.Push(WorkerEnd::Request(1));
  end_.Push(WorkerEnd::Request(2));

  ASSERT_TRUE(worker_->Next(Soon()).ok() && worker_->Done(1).ok());
  EXPECT_EQ(posix::Drain(end_.channel_memory.to_daemon), 0u);
  shm::FallAsleep(end_.channel.daemon_asleep);
  ASSERT_TRUE(worker_->Next(Soon()).ok() && worker_->Done(1).ok());

  EXPECT_EQ(posix::Drain(end_.channel_memory.to_daemon), 1u);
  EXPECT_EQ(end_.channel.daemon_asleep, 0u);
}

TEST_F(WorkerTest, ASegmentMayArriveAfterTheRequest) {
  end_.Push(WorkerEnd::Request(1));
  auto next = std::async(std::launch::async, [this] { return worker_->Next(Soon()); });
  ASSERT_TRUE(Eventually([this] { return end_.channel.requests.popped != 0; }));

  end_.SendSegment();

  const auto batch = next.get();
  EXPECT_TRUE(batch.ok()) << batch.status();
}

TEST_F(WorkerTest, ASegmentIsMappedOnFirstUseAndUnmappedOnceItIsGoneAndNotInHand) {
  end_.SendSegment();
  EXPECT_FALSE(worker_->Next(kNow).ok());
  EXPECT_EQ(MappedSegments(), 1u);
  end_.Push(WorkerEnd::Request(1));
  const auto batch = worker_->Next(Soon());
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(MappedSegments(), 2u);

  end_.daemon.SendGone(end_.peer.id, kSegmentId);
  EXPECT_FALSE(worker_->AskForRoom(2000, kNow).ok());  // reads the message
  std::memset(batch->room.data(), 'x', batch->room.size());
  EXPECT_EQ(MappedSegments(), 2u);

  worker_.reset();
  EXPECT_EQ(MappedSegments(), 1u);
}

TEST_F(WorkerTest, ASegmentThatIsGoneIsUnmappedBeforeTheNextBatch) {
  end_.SendSegment();
  end_.Push(WorkerEnd::Request(1));
  ASSERT_TRUE(worker_->Next(Soon()).ok() && worker_->Done(1).ok());

  end_.daemon.SendGone(end_.peer.id, kSegmentId);
  EXPECT_EQ(worker_->Next(kNow).status().code(), Code::kDeadlineExceeded);

  EXPECT_EQ(MappedSegments(), 1u);
}

TEST_F(WorkerTest, OnceTheDaemonIsGoneEveryCallSaysSo) {
  end_.SendSegment();
  auto next = std::async(std::launch::async, [this] { return worker_->Next(Soon()); });
  ASSERT_TRUE(Eventually([this] { return end_.channel.worker_asleep != 0; }));

  end_.daemon.Close();

  EXPECT_EQ(next.get().status().code(), Code::kUnavailable);
  end_.Push(WorkerEnd::Request(1));
  EXPECT_EQ(worker_->Next(kNow).status().code(), Code::kUnavailable);
  EXPECT_EQ(worker_->Done(1).code(), Code::kUnavailable);
}

TEST(EndWithHostTest, AWorkerEndsWithItsHostAndNoticesOneThatHasEnded) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t host = doorway::Fork([&] {
    const pid_t self = ::getpid();
    doorway::Fork([&] {
      ::close(ends[0]);
      if (EndWithHost(::getppid() + 1).code() != Code::kUnavailable) return 1;
      if (!EndWithHost(self).ok()) return 1;
      (void)!::write(ends[1], "r", 1);
      return ::pause();
    });
    return ::pause();
  });
  ::close(ends[1]);
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);

  ::kill(host, SIGKILL);
  doorway::WaitForExit(host);

  EXPECT_TRUE(ClosesSoon(ends[0]));  // nobody holds the other end any more
  ::close(ends[0]);
}

}  // namespace
}  // namespace penstock::client
