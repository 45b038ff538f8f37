// Who may enter, and whom to ask for a host.
#include "server/pyworkers/hosts.h"

#include "tests/unit/pyworkers/hosts_rig.h"

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- Tokens ----

TEST_F(HostsTest, ATrainersSessionsOfADatasetShareATokenAndOthersDoNot) {
  const HostToken token = Open(1, kTrainer);

  EXPECT_EQ(Open(2, kTrainer), token);
  EXPECT_NE(Open(3, kOtherTrainer), token);
  const auto other = std::make_shared<int>();
  PythonSession session = Session(4, kTrainer);
  session.dataset = other;
  EXPECT_NE(*hosts_.SessionOpened(session, now_), token);
}

TEST_F(HostsTest, WithoutATokenNobodyEnters) {
  Open(1, kTrainer);
  WantRow();

  Enter(HostToken{});

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
}

TEST_F(HostsTest, ATokenEndsWithItsConnection) {
  const HostToken token = Open(1, kTrainer);
  Open(2, kOtherTrainer);
  WantRow();

  hosts_.PeerLeft(kTrainer);
  Enter(token);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
}

// ---- Asking ----

TEST_F(HostsTest, ATrainerIsAskedOnceTheFirstRowIsWanted) {
  Open(1, kTrainer);
  hosts_.GivenOut(now_);
  EXPECT_THAT(wanted_, IsEmpty());

  WantRow();

  EXPECT_EQ(wanted_[1], 1u);
  WantRow();
  EXPECT_EQ(wanted_[1], 1u);
}

TEST_F(HostsTest, OneThatWaitsIsAskedFirstAndOneThatIsFailedNever) {
  Open(1, kTrainer);
  Open(2, kTrainer);
  Open(3, kOtherTrainer);
  looks_[1].may_ask = false;
  looks_[3].is_waiting = true;

  WantRow();

  EXPECT_EQ(wanted_.size(), 1u);
  EXPECT_EQ(wanted_[3], 1u);
}

TEST_F(HostsTest, AnotherIsAskedWhenABusyOneDoesNotAnswerAndTheFirstHostCounts) {
  const HostToken busy = Open(1, kTrainer), other = Open(2, kOtherTrainer);
  WantRow();
  Pass(9s);
  EXPECT_EQ(wanted_.size(), 1u);
  Pass(2s);
  EXPECT_EQ(wanted_.size(), 2u);

  const auto first = Enter(other, kHostPeer);
  const auto second = Enter(busy, kHostPeer + 1);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer + 1));
  EXPECT_EQ(first->place(0).wanted_starts, 1u);
}

TEST_F(HostsTest, AfterThreeFailedHostsTheFeedsFailWithTheLastReason) {
  const HostToken token = Open(1, kTrainer);
  WantRow();
  for (int i = 0; i < 3; ++i) {
    const auto host = Enter(token);
    auto& page = *reinterpret_cast<shm::PythonHostPage*>(host->page.data());
    std::strcpy(page.error, "fork: no memory");
    page.failed = 1;
    Pass(100ms);
    host->process.AwaitDeath();
    WantRow();
    Pass(1s);
  }

  ASSERT_EQ(failed_.size(), 1u);
  EXPECT_THAT(failed_[0], HasSubstr("fork: no memory"));
  EXPECT_FALSE(MayMake());
  EXPECT_EQ(wanted_[1], 3u);
}

TEST_F(HostsTest, AForkedHostThatDoesNotEnterFailed) {
  Open(1, kTrainer);
  WantRow();
  for (uint32_t i = 1; i <= 3; ++i) {
    looks_[1].hosts_forked = i;
    Pass(11s);
  }

  ASSERT_EQ(failed_.size(), 1u);
  EXPECT_THAT(failed_[0], HasSubstr("did not enter"));
}

TEST_F(HostsTest, WhenAnotherSessionOpensItIsTriedAgain) {
  Open(1, kTrainer);
  WantRow();
  for (uint32_t i = 1; i <= 3; ++i) {
    looks_[1].hosts_forked = i;
    Pass(11s);
  }
  ASSERT_EQ(failed_.size(), 1u);

  const HostToken token = Open(2, kOtherTrainer);
  WantRow();
  const auto host = Enter(token);

  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(HostsTest, ASessionThatNeedsMoreWorkersThanOthersLeaveIsRefused) {
  std::vector<std::shared_ptr<int>> datasets;
  for (uint64_t i = 1; i <= 4; ++i) {
    PythonSession session = Session(i, kTrainer, 255);
    session.dataset = datasets.emplace_back(std::make_shared<int>());
    ASSERT_TRUE(hosts_.SessionOpened(session, now_).ok());
  }
  PythonSession streams = Session(5, kTrainer, 8);
  streams.streams = 8;

  const absl::Status refused = hosts_.SessionOpened(streams, now_).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("got 4"));
  EXPECT_TRUE(hosts_.SessionOpened(Session(6, kTrainer, 8), now_).ok()) << "with fewer workers";
}

}  // namespace
}  // namespace penstock::pyworkers
