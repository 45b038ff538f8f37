// Tests what a real daemon reports to the service manager that started it, and how it ends. A
// socket simulates the service manager.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "server/app/version.h"
#include "tests/support/fakes/fake_manager.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/preload.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

#if defined(PENSTOCK_ASAN)
#define SKIP_UNDER_SANITIZERS() GTEST_SKIP() << "AddressSanitizer reports crashes itself"
#else
#define SKIP_UNDER_SANITIZERS()
#endif

class NotifyTest : public ::testing::Test {
 protected:
  std::string Config(const std::string& more = "") const {
    return "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 16MiB}\n" + more +
           "datasets: [{name: photographs, folder: " + Photographs(24) + "}]\n";
  }
  // The daemon and its workers inherit the environment.
  void MakeTheRunnerStickWhen(const std::string& file) {
    setenv("PENSTOCK_TEST_STUCK", file.c_str(), 1);
    preload_.emplace(PENSTOCK_STUCK_RUNNER);
  }

  std::optional<Preload> preload_;
  TempFolder folder_;
  FakeManager manager_{folder_.At("notify")};
};

TEST_F(NotifyTest, ADaemonWhoseWorkersHaveNotAnsweredIsNotReady) {
  // The daemon waits for the sandbox probe before it serves, so the probe must not be slow.
  folder_.Write("slow-worker", "#!/bin/sh\nwhile [ \"$1\" != probe ] && [ ! -e " +
                                   folder_.At("go") + " ]; do sleep 0.05; done\nexec " +
                                   ProgramPath("penstock-worker") + " \"$@\"\n");
  fs::permissions(folder_.At("slow-worker"), fs::perms(0755));
  DaemonProcess daemon({.workers = 1,
                        .config = Config("workers: {program: " + folder_.At("slow-worker") + "}\n"),
                        .serves = false});

  EXPECT_FALSE(manager_.Hears("READY=1", milliseconds(500)));
  EXPECT_THAT(manager_.heard(), HasSubstr("STATUS=starting; 0 of 1 workers"));
  EXPECT_THAT(daemon.log(), Not(HasSubstr("event=serving")));

  folder_.Write("go", "");
  EXPECT_TRUE(manager_.Hears("READY=1"));
  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), 24u);
}

TEST_F(NotifyTest, AConfigurationThatCannotBeEndsWithTwoAndIsSaid) {
  folder_.Write("penstock.yaml", "server: {socket: " + folder_.At("run/s") + ", group: nobodys}\n");

  const Ended ended = RunProgram("penstockd", {"--config", folder_.At("penstock.yaml")});

  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  EXPECT_TRUE(manager_.Hears("STATUS=ending: " + folder_.At("penstock.yaml") +
                             ":1: server.group: there is no group 'nobodys'"))
      << manager_.heard();
  EXPECT_THAT(manager_.heard(), Not(HasSubstr("READY")));
}

TEST_F(NotifyTest, AFolderThatIsNotItsOwnEndsWithTwo) {
  fs::create_directory(folder_.At("run"));
  fs::permissions(folder_.At("run"), fs::perms(0777));

  const Ended ended = RunProgram("penstockd", {"--private", folder_.At("run")});

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("chmod go-w"));
}

TEST_F(NotifyTest, ARunnerThatIsStuckGivesNoSignOfLife) {
  MakeTheRunnerStickWhen(folder_.At("stuck"));
  setenv("WATCHDOG_USEC", "800000", 1);
  DaemonProcess daemon({.workers = 1});
  ASSERT_TRUE(manager_.Hears("WATCHDOG=1"));
  ASSERT_TRUE(manager_.Hears("WATCHDOG=1"));

  folder_.Write("stuck", "");
  (void)manager_.Hears("WATCHDOG=1", seconds(1));  // from earlier passes
  (void)manager_.Hears("WATCHDOG=1", seconds(1));
  EXPECT_FALSE(manager_.Hears("WATCHDOG=1", seconds(2)));

  fs::remove(folder_.At("stuck"));
  EXPECT_TRUE(manager_.Hears("WATCHDOG=1"));
}

TEST_F(NotifyTest, TheStatusTellsHowManySessionsThereAre) {
  DaemonProcess daemon({.workers = 1, .config = Config()});
  ASSERT_TRUE(
      manager_.Hears("STATUS=serving 0 sessions; 0 B of the pool's 16.0 MiB reserved; "
                     "1 of 1 workers"))
      << manager_.heard();

  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(SmallRows("photographs", 8)).OrDie();

  EXPECT_TRUE(manager_.Hears("STATUS=serving 1 session;")) << manager_.heard();
}

TEST_F(NotifyTest, SigtermIsSaidAndEndsWithZero) {
  DaemonProcess daemon({.workers = 1});
  ASSERT_TRUE(manager_.Hears("READY=1"));

  EXPECT_EQ(daemon.Kill(SIGTERM), 0);

  EXPECT_TRUE(manager_.Hears("STOPPING=1\nSTATUS=ending: signal 15"));
}

TEST_F(NotifyTest, OneLineSaysWhatServesHere) {
  DaemonProcess daemon({.workers = 1, .config = Config()});

  EXPECT_TRUE(
      daemon.Eventually([&] { return daemon.log().find("event=serving") != std::string::npos; }));

  const std::string log = daemon.log();
  const std::string line = log.substr(log.find("event=serving"));
  EXPECT_THAT(line.substr(0, line.find('\n')),
              AllOf(HasSubstr("version=" + std::string(app::kVersion)),
                    HasSubstr("socket=" + daemon.address()), HasSubstr("pool=\"16.0 MiB\""),
                    HasSubstr("workers=1"), HasSubstr("gpus=")));
}

TEST_F(NotifyTest, ACrashIsLoggedWithVersionSignalAndBacktrace) {
  SKIP_UNDER_SANITIZERS();
  MakeTheRunnerStickWhen(folder_.At("crash"));
  DaemonProcess daemon({.workers = 1});

  folder_.Write("crash", "now");
  EXPECT_TRUE(
      daemon.Eventually([&] { return daemon.log().find("event=crashed") != std::string::npos; }));

  EXPECT_EQ(daemon.Kill(0), -SIGSEGV);  // only waits: the daemon is already dying
  EXPECT_THAT(daemon.log(),
              AllOf(HasSubstr("SIGSEGV received"), HasSubstr("penstock::feed::Runner"),
                    HasSubstr("level=error event=crashed version=")));
}

TEST_F(NotifyTest, ABusErrorThatIsNoReadOfADatasetIsACrashLikeAnyOther) {
  SKIP_UNDER_SANITIZERS();
  folder_.Write("idx/train-images-idx3-ubyte", IdxImages(24, 4, 4));
  folder_.Write("idx/train-labels-idx1-ubyte", IdxLabels(24));
  DaemonProcess daemon({.workers = 1});
  SessionOptions options;
  options.dataset = folder_.At("idx/train-images-idx3-ubyte");
  options.batch_size = 8;
  options.epochs = 1;
  // Reading stored rows makes the daemon install its SIGBUS handler.
  ASSERT_EQ(OneEpoch(daemon.address(), options).rows.size(), 24u);

  EXPECT_EQ(daemon.Kill(SIGBUS), -SIGBUS);

  EXPECT_THAT(daemon.log(), AllOf(HasSubstr("event=crashed"), HasSubstr("SIGBUS received")));
}

TEST_F(NotifyTest, WorkersComeBeforeTheDaemonWhenMemoryRunsOut) {
  DaemonProcess daemon({.workers = 1});
  const auto score_of = [](pid_t pid) {
    int score = -1;
    std::ifstream("/proc/" + std::to_string(pid) + "/oom_score_adj") >> score;
    return score;
  };

  // The worker sets its own score shortly after it starts.
  EXPECT_TRUE(daemon.Eventually([&] { return score_of(daemon.WorkerPids().at(0)) == 500; }));
  EXPECT_LT(score_of(daemon.pid()), 500);
}

}  // namespace
}  // namespace penstock::testing
