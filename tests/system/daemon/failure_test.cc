// Kills, stops or orphans each process at a bad moment, and checks what its neighbours notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/trainer.h"
#include "tests/support/programs/trainer_process.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr int kImages = 120;

std::set<std::string> EntriesOf(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

Delivered Undisturbed(const SessionOptions& options) {
  DaemonProcess daemon({.workers = 1});
  return OneEpoch(daemon.address(), options);
}

TEST(FailureTest, WorkersKilledInTheMiddleOfBatchesChangeNoByte) {
  SessionOptions options = SmallRows(Photographs(kImages), 8);
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};
  const Delivered expected = Undisturbed(options);
  DaemonProcess daemon({.workers = 2});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(options).OrDie();

  Delivered got;
  int killed = 0;
  for (int taken = 0; taken < kImages / 8; ++taken) {
    ASSERT_TRUE(TakeBatches(session, 1, got).ok());
    if (taken % 4 != 0) continue;
    // By now, workers are decoding into the slots just released.
    std::this_thread::sleep_for(milliseconds(3));
    for (pid_t pid : daemon.WorkerPids())
      if (kill(pid, SIGKILL) == 0) ++killed;
  }

  EXPECT_EQ(session.Next().status().code(), Code::kEndOfEpoch);
  EXPECT_GE(killed, 3);
  EXPECT_GE(daemon.Status().worker_restarts(), 3u);
  EXPECT_TRUE(got == expected);
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
}

TEST(FailureTest, AKilledTrainersSlotsAreBackWithinFiveSeconds) {
  DaemonProcess daemon({.workers = 1});
  TrainerProcess trainer(daemon.address(), Photographs(kImages), "hold");
  ASSERT_GT(daemon.Status().pool().slots_held(), 0u);

  trainer.Kill();

  EXPECT_TRUE(daemon.Eventually(
      [&] {
        const v1::GetStatusResponse status = daemon.Status();
        return status.sessions() == 0 && status.pool().slots_held() == 0;
      },
      5));
}

TEST(FailureTest, ATrainersForkedChildThatKeepsTheSocketKeepsNoSlot) {
  DaemonProcess daemon({.workers = 1});
  TrainerProcess trainer(daemon.address(), Photographs(kImages), "fork");
  const std::vector<pid_t> children = ChildrenOf(trainer.pid());
  ASSERT_EQ(children.size(), 1u);
  ASSERT_GT(daemon.Status().pool().slots_held(), 0u);

  trainer.Kill();

  EXPECT_TRUE(daemon.Eventually(
      [&] {
        const v1::GetStatusResponse status = daemon.Status();
        return status.sessions() == 0 && status.pool().slots_held() == 0;
      },
      5));
  EXPECT_EQ(kill(children[0], SIGKILL), 0) << "the child was to live, with its sockets";
}

TEST(FailureTest, AStoppedTrainerHoldsUpNobody) {
  DaemonProcess daemon({.workers = 1});
  TrainerProcess stopped(daemon.address(), Photographs(kImages), "hold");
  kill(stopped.pid(), SIGSTOP);

  const Delivered got = OneEpoch(daemon.address(), SmallRows(Photographs(kImages), 8));

  EXPECT_EQ(got.rows.size(), size_t{kImages});
  EXPECT_EQ(daemon.Status().sessions(), 1u);
}

TEST(FailureTest, CtrlCOnItsTerminalEndsTheDaemonItsWorkersAndItsSockets) {
  DaemonProcess daemon({.workers = 2, .on_terminal = true});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(SmallRows(Photographs(kImages), 8)).OrDie();
  Delivered got;
  ASSERT_TRUE(TakeBatches(session, 1, got).ok());
  const std::vector<pid_t> workers = daemon.WorkerPids();
  ASSERT_EQ(workers.size(), 2u);

  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.PressCtrlC(), 0);

  // Takes less than half a second on an idle machine, because it waits for no client.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1500));
  for (pid_t pid : workers) EXPECT_NE(kill(pid, 0), 0) << pid;
  EXPECT_THAT(EntriesOf(daemon.directory() + "/run"), ::testing::ElementsAre("state"));
  EXPECT_EQ(TakeBatches(session, 1000, got).code(), Code::kUnavailable);
  EXPECT_THAT(daemon.log(), ::testing::Not(HasSubstr("level=error")));
  daemon.Start();
  EXPECT_EQ(TakeBatches(session, 1000, got).code(), Code::kEndOfEpoch);
  EXPECT_EQ(got.rows.size(), size_t{kImages});
}

TEST(FailureTest, AKilledDaemonTakesItsWorkersAlong) {
  // A daemon with a configuration starts all workers at once.
  DaemonProcess daemon(
      {.workers = 2, .config = "server: {socket: SOCKET, group: '', state_dir: ''}\n"});
  const std::vector<pid_t> workers = daemon.WorkerPids();

  EXPECT_EQ(daemon.Kill(SIGKILL), -SIGKILL);

  EXPECT_TRUE(daemon.Eventually([&] {
    for (pid_t pid : workers)
      if (kill(pid, 0) == 0) return false;
    return true;
  }));
  daemon.Start();  // replaces a dead daemon
  EXPECT_EQ(daemon.WorkerPids().size(), 2u);
}

TEST(FailureTest, ATrainerHearsOfTheDaemonsDeathWithinTwoSecondsAndResumesWithTheSameBytes) {
  SessionOptions options = SmallRows(Photographs(kImages), 8);
  const Delivered expected = Undisturbed(options);
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(options).OrDie();
  Delivered got;
  ASSERT_TRUE(TakeBatches(session, 4, got).ok());

  daemon.Kill(SIGKILL);
  const auto killed = steady_clock::now();
  const Status status = TakeBatches(session, 1000, got);  // ready batches may still arrive
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  EXPECT_LT(steady_clock::now() - killed, seconds(2));
  daemon.Start();
  EXPECT_EQ(TakeBatches(session, 1000, got).code(), Code::kEndOfEpoch);

  EXPECT_EQ(got.twice, 0u);
  EXPECT_TRUE(got == expected);
}

TEST(FailureTest, ASavedStateResumesInAnotherDaemonWithTheSameBytes) {
  SessionOptions options = SmallRows(Photographs(kImages), 8);
  const Delivered expected = Undisturbed(options);
  Delivered got;
  {
    DaemonProcess daemon({.workers = 1});
    Client client = Client::Connect({.address = daemon.address()}).OrDie();
    Session session = client.Open(options).OrDie();
    ASSERT_TRUE(TakeBatches(session, 5, got).ok());
    options.state = State::FromString(session.state().ToString()).OrDie();
  }
  DaemonProcess daemon({.workers = 2});

  Merge(OneEpoch(daemon.address(), options), got);

  EXPECT_EQ(got.twice, 0u);
  EXPECT_TRUE(got == expected);
}

}  // namespace
}  // namespace penstock::testing
