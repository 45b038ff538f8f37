#include "server/export/session_page.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "common/posix/futex.h"

namespace penstock::exporting {
namespace {

using std::chrono::milliseconds;

class SessionPageTest : public ::testing::Test {
 protected:
  // The consumer's view of the page, mapped from the descriptor that it would receive.
  shm::ControlPage& Consumer() {
    if (mapping_.data() == nullptr) {
      auto mapping =
          posix::Mapping::Map(delivery_.memory(), shm::kControlBytes, posix::Access::kReadWrite);
      mapping_ = std::move(*mapping);
    }
    return *reinterpret_cast<shm::ControlPage*>(mapping_.data());
  }
  static shm::ControlEntry Entry(uint64_t sequence) {
    shm::ControlEntry entry = {};
    entry.sequence = sequence;
    entry.offset = sequence * 4096;
    return entry;
  }

  SessionPage delivery_ = std::move(*SessionPage::Make(7, 4));
  posix::Mapping mapping_;
};

TEST_F(SessionPageTest, AFreshPageSaysWhatItIsAndAnnouncesNothing) {
  EXPECT_EQ(Consumer().magic, shm::kControlMagic);
  EXPECT_EQ(Consumer().version, shm::kControlVersion);
  EXPECT_EQ(Consumer().session_id, 7u);
  EXPECT_EQ(Consumer().announced.load(), 0u);
  EXPECT_EQ(Consumer().state.load(), static_cast<uint32_t>(shm::SessionState::kOpen));
}

TEST_F(SessionPageTest, NoHostIsWantedWhateverElseIsWritten) {
  for (uint64_t n = 1; n <= shm::kControlCapacity; ++n) delivery_.Announce(Entry(n));
  delivery_.SetAsleep(true);
  delivery_.Finish(shm::SessionState::kFailed, absl::InternalError(std::string(5000, 'x')));
  Consumer().taken.store(UINT64_MAX);

  EXPECT_EQ(Consumer().hosts_wanted.load(), 0u);
}

TEST_F(SessionPageTest, AnAnnouncedBatchIsThereBeforeItsCount) {
  delivery_.Announce(Entry(1));

  ASSERT_EQ(Consumer().announced.load(std::memory_order_acquire), 1u);
  EXPECT_EQ(Consumer().entries[0].sequence, 1u);
  EXPECT_EQ(Consumer().entries[0].offset, 4096u);
}

TEST_F(SessionPageTest, TheRingOfEntriesWrapsAround) {
  for (uint64_t n = 1; n <= shm::kControlCapacity + 1; ++n) delivery_.Announce(Entry(n));

  EXPECT_EQ(Consumer().entries[0].sequence, shm::kControlCapacity + 1);
  EXPECT_EQ(Consumer().entries[1].sequence, 2u);
}

TEST_F(SessionPageTest, ASleepingConsumerIsWokenByAnAnnouncement) {
  shm::ControlPage& page = Consumer();
  page.consumer_asleep.store(1, std::memory_order_seq_cst);
  std::thread consumer([&page] {
    while (page.announced.load(std::memory_order_acquire) == 0)
      posix::FutexWait(page.wakeup, 0, std::chrono::seconds(10));
  });

  delivery_.Announce(Entry(1));

  consumer.join();
}

TEST_F(SessionPageTest, OnlyTheSequenceItselfCountsAsReleased) {
  EXPECT_FALSE(delivery_.Released(1));
  Consumer().released[0].store(shm::kControlCapacity + 1);
  EXPECT_FALSE(delivery_.Released(1));
  Consumer().released[0].store(1);

  EXPECT_TRUE(delivery_.Released(1));
  EXPECT_FALSE(delivery_.Released(shm::kControlCapacity + 1));
}

TEST_F(SessionPageTest, AFailureIsToldOnceCutToFitAndEndsWithANul) {
  delivery_.Finish(shm::SessionState::kFailed, absl::DataLossError(std::string(5000, 'x')));
  delivery_.Finish(shm::SessionState::kClosing, absl::OkStatus());

  EXPECT_EQ(Consumer().state.load(), static_cast<uint32_t>(shm::SessionState::kFailed));
  EXPECT_EQ(Consumer().error_code, static_cast<uint32_t>(absl::StatusCode::kDataLoss));
  EXPECT_EQ(std::string(Consumer().error).size(), sizeof(shm::ControlPage::error) - 1);
}

TEST_F(SessionPageTest, TheEventIsQuietUntilTheConsumerRingsIt) {
  pollfd poll_fd = {delivery_.event().get(), POLLIN, 0};
  EXPECT_EQ(poll(&poll_fd, 1, 0), 0);

  posix::NotifyEvent(delivery_.event());

  EXPECT_EQ(poll(&poll_fd, 1, 0), 1);
}

}  // namespace
}  // namespace penstock::exporting
