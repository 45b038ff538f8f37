#include "server/pyworkers/host_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <utility>

namespace penstock::pyworkers {
namespace {

constexpr int kExitedWith3 = 3 << 8, kKilledBy9 = 9, kStopped = 0x137F;  // as waitpid(2) says it

// The host's side of a page, which writes what it likes.
class PageTest : public testing::Test {
 protected:
  shm::PythonHostPage& host() { return *reinterpret_cast<shm::PythonHostPage*>(theirs_.data()); }
  // The host forks start `starts` of place 7, and has reaped `ended`.
  void Write(uint32_t starts, uint32_t ended) {
    host().places[7].starts = starts;
    host().places[7].ended = ended;
  }
  absl::Status Read() { return page_.Read(7).status(); }
  void ExpectLie() { EXPECT_EQ(Read().code(), absl::StatusCode::kDataLoss); }

  HostPage page_ = *HostPage::Make();
  posix::Mapping theirs_ =
      *posix::Mapping::Map(page_.memory(), HostPage::kBytes, posix::Access::kReadWrite);
};

TEST_F(PageTest, TheHostGetsASealedPageThatSaysWhatItIs) {
  EXPECT_EQ(host().magic, shm::kPythonHostMagic);
  EXPECT_EQ(host().version, shm::kPythonHostVersion);
  EXPECT_EQ(host().capacity, shm::kMaxPythonWorkers);
  EXPECT_EQ(::fcntl(page_.memory().get(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

TEST_F(PageTest, WhatTheDaemonWantsIsOnThePageAndWakesTheHost) {
  page_.WantStart(7, 1);
  EXPECT_EQ(host().places[7].wanted_starts, 1u);
  EXPECT_TRUE(posix::IsGone(page_.event_to_host()));  // readable
  posix::DrainNotifications(page_.event_to_host());

  page_.Kill(7, 1);
  EXPECT_EQ(host().places[7].kill, 1u);
  EXPECT_TRUE(posix::IsGone(page_.event_to_host()));
}

TEST_F(PageTest, ALifeIsReadStepByStep) {
  page_.WantStart(7, 1);
  EXPECT_EQ(page_.Read(7)->starts, 0u);
  host().places[7].pid = 4711;
  Write(1, 0);
  EXPECT_EQ(page_.Read(7)->starts, 1u);
  EXPECT_EQ(page_.Read(7)->ended, 0u);
  EXPECT_EQ(page_.Read(7)->pid, 4711);

  Write(1, 1);
  EXPECT_EQ(page_.Read(7)->ended, 1u);
  page_.WantStart(7, 2);
  Write(2, 1);

  EXPECT_EQ(page_.Read(7)->starts, 2u);
}

TEST_F(PageTest, AStartThatNobodyAskedForIsALie) {
  Write(1, 0);
  ExpectLie();
}

TEST_F(PageTest, MoreEndsThanStartsAreALie) {
  page_.WantStart(7, 1);
  Write(1, 2);
  ExpectLie();
}

TEST_F(PageTest, TwoProcessesAtAPlaceAreALie) {
  page_.WantStart(7, 1);
  page_.WantStart(7, 2);
  Write(2, 0);
  ExpectLie();
}

TEST_F(PageTest, NumbersThatDecreaseAreALie) {
  page_.WantStart(7, 1);
  page_.WantStart(7, 2);
  Write(2, 2);
  ASSERT_TRUE(Read().ok());

  Write(2, 1);
  ExpectLie();
  Write(1, 1);
  ExpectLie();
}

TEST_F(PageTest, TheHostCannotRaiseWhatIsWanted) {
  host().places[7].wanted_starts = 9;
  Write(9, 9);
  ExpectLie();
}

TEST_F(PageTest, HowAWorkerEndedIsReadAsWaitpidSaysIt) {
  host().places[7].exit_status = kExitedWith3;
  EXPECT_EQ(posix::Describe(*page_.ReadEnd(7).exit), "ended with exit code 3");
  host().places[7].exit_status = kKilledBy9;
  EXPECT_EQ(posix::Describe(*page_.ReadEnd(7).exit), "killed by signal 9 (Killed)");
  host().places[7].exit_status = kStopped;
  EXPECT_FALSE(page_.ReadEnd(7).exit.has_value());
}

TEST_F(PageTest, WordsArePrintableAndEndWithThePageEvenWithoutANulByte) {
  std::strcpy(host().places[7].words, "Fatal\nred: \x1b[31m\n\n");
  EXPECT_EQ(page_.ReadEnd(7).words, "Fatal|red: ?[31m");

  std::memset(host().places[7].words, 'x', sizeof(host().places[7].words));
  EXPECT_EQ(page_.ReadEnd(7).words, std::string(512, 'x'));
}

TEST_F(PageTest, AHostThatCannotGoOnSaysWhy) {
  std::strcpy(host().error, "fork: out of memory");
  EXPECT_EQ(page_.Failure(), std::nullopt);

  host().failed = 1;

  EXPECT_EQ(page_.Failure(), "fork: out of memory");
  std::memset(host().error, '\xFF', sizeof(host().error));
  EXPECT_EQ(page_.Failure(), std::string(2048, '?'));
}

// A host that keeps the rules, or writes random numbers; reports are possible in either case.
TEST_F(PageTest, UnderRandomWritesOnlyPossibleReportsAreRead) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    HostPage page = *HostPage::Make();
    const posix::Mapping theirs =
        *posix::Mapping::Map(page.memory(), HostPage::kBytes, posix::Access::kReadWrite);
    auto& place = reinterpret_cast<shm::PythonHostPage*>(theirs.data())->places[0];
    uint32_t wanted = 0;
    PlaceReport last;
    for (int step = 0; step < 60; ++step) {
      const uint32_t choice = random() % 4;
      if (choice == 0) page.WantStart(0, ++wanted);
      if (choice == 1) place.starts = random() % (wanted + 2);
      if (choice == 2) place.ended = random() % (wanted + 2);
      const absl::StatusOr<PlaceReport> report = page.Read(0);
      if (!report.ok()) continue;
      EXPECT_LE(report->starts, wanted);
      EXPECT_LE(report->ended, report->starts);
      EXPECT_LE(report->starts - report->ended, 1u);
      EXPECT_GE(report->starts, last.starts);
      EXPECT_GE(report->ended, last.ended);
      last = *report;
    }
  }
}

}  // namespace
}  // namespace penstock::pyworkers
