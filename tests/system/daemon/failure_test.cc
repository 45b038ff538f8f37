// Every process killed, stopped or orphaned at a bad moment, and what its neighbours notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/support/daemon_process.h"
#include "tests/support/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kImages = 120;

// Another process that trains: the program penstock-test-trainer, which says "holding" once it
// does.
class TrainerProcess {
 public:
  TrainerProcess(const std::string& address, const std::string& dataset, const char* mode) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    const std::string program =
        std::filesystem::canonical("/proc/self/exe").parent_path() / "penstock-test-trainer";
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], 1);
      close(out[0]);
      execl(program.c_str(), program.c_str(), address.c_str(), dataset.c_str(), mode, nullptr);
      _exit(127);
    }
    close(out[1]);
    char said[16] = {};
    EXPECT_EQ(read(out[0], said, 8), 8) << "the trainer process did not get its batches";
    close(out[0]);
  }
  ~TrainerProcess() {
    if (pid_ > 0) Kill();
  }
  void Kill() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

Delivered Undisturbed(const SessionOptions& options) {
  DaemonProcess daemon({.workers = 1});
  return OneEpoch(daemon.address(), options);
}

TEST(FailureTest, WorkersKilledInTheMiddleOfBatchesChangeNoByte) {
  const SessionOptions options = SmallRows(Photographs(kImages), 8);
  const Delivered expected = Undisturbed(options);
  DaemonProcess daemon({.workers = 2});
  std::atomic<bool> done = false;
  std::atomic<int> killed = 0;
  std::thread killer([&] {
    while (!done && killed < 6) {
      for (pid_t pid : daemon.WorkerPids())
        if (kill(pid, SIGKILL) == 0) ++killed;
      std::this_thread::sleep_for(milliseconds(30));
    }
  });

  const Delivered got = OneEpoch(daemon.address(), options);
  done = true;
  killer.join();

  EXPECT_GE(killed, 1);
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

  trainer.Kill();

  EXPECT_TRUE(daemon.Eventually([&] { return daemon.Status().sessions() == 0; }, 5));
}

TEST(FailureTest, AStoppedTrainerHoldsUpNobody) {
  DaemonProcess daemon({.workers = 1});
  TrainerProcess stopped(daemon.address(), Photographs(kImages), "hold");
  kill(stopped.pid(), SIGSTOP);

  const Delivered got = OneEpoch(daemon.address(), SmallRows(Photographs(kImages), 8));

  EXPECT_EQ(got.rows.size(), size_t{kImages});
  EXPECT_EQ(daemon.Status().sessions(), 1u);
}

TEST(FailureTest, CtrlCEndsTheDaemonItsWorkersAndItsSockets) {
  DaemonProcess daemon({.workers = 2});
  const std::vector<pid_t> workers = daemon.WorkerPids();
  ASSERT_EQ(workers.size(), 2u);

  kill(-daemon.pid(), SIGINT);  // as a terminal does: to the whole foreground group
  EXPECT_EQ(daemon.Kill(SIGINT), 0);

  for (pid_t pid : workers) EXPECT_NE(kill(pid, 0), 0) << pid;
  EXPECT_FALSE(std::filesystem::exists(daemon.address()));
  EXPECT_FALSE(std::filesystem::exists(daemon.address() + ".door"));
  daemon.Start();
}

TEST(FailureTest, AKilledDaemonTakesItsWorkersAlong) {
  DaemonProcess daemon({.workers = 2});
  const std::vector<pid_t> workers = daemon.WorkerPids();

  EXPECT_EQ(daemon.Kill(SIGKILL), -SIGKILL);

  EXPECT_TRUE(daemon.Eventually([&] {
    for (pid_t pid : workers)
      if (kill(pid, 0) == 0) return false;
    return true;
  }));
  daemon.Start();  // in the place of a dead one
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
  const Status status = TakeBatches(session, 1000, got);  // what was ready may still come
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
