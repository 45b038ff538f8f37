// Starts daemons whose workers' or indexers' sandbox holds, has a hole, cannot be built, or is off,
// as a user other than root.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/sandbox/sandbox.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr uid_t kUser = 54320;
constexpr int kImages = 24;

Identity DaemonUser() { return ::geteuid() == 0 ? Identity{.user = kUser} : Identity{}; }

std::string Config(const std::string& workers, const std::string& more_of_server = "") {
  EXPECT_EQ(::chmod(fs::path(Photographs(kImages)).parent_path().c_str(), 0755), 0);
  return "server: {socket: SOCKET, group: '', state_dir: ''" + more_of_server + "}\nworkers: {" +
         workers + "}\npool: {max: 64MiB}\n" +
         "datasets:\n  - {name: photographs, folder: " + Photographs(kImages) + "}\n";
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ExpectShutIn(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  EXPECT_THAT(Contents(proc + "/status"),
              AllOf(HasSubstr("Seccomp:\t2"), HasSubstr("NoNewPrivs:\t1")));
  EXPECT_THAT(Contents(proc + "/limits"), ::testing::ContainsRegex("Max processes +0 +0"));
  EXPECT_THAT(Contents(proc + "/environ"), ::testing::Not(HasSubstr("AWS_SECRET")));
}

// What the process has open: each number, and the beginning of its file's name.
std::set<std::string> Held(pid_t pid) {
  std::set<std::string> held;
  for (const auto& each : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
    held.insert(each.path().filename().string() + " " +
                fs::read_symlink(each.path()).string().substr(0, 6));
  return held;
}

class SandboxStartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sandbox::kIsInstrumented) GTEST_SKIP() << "a sanitizer's runtime cannot run in a sandbox";
    EXPECT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    ::setenv("AWS_SECRET", "hidden", 1);  // inherited by the daemon alone
  }

  // Makes a worker program that runs `script`. "$@" are the real worker's arguments.
  std::string StandIn(const std::string& script) {
    const std::string path = folder_.path() + "/stand-in";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path;
  }
  std::string Worker() { return ProgramPath("penstock-worker") + " \"$@\""; }
  // Makes a worker program for which these system calls fail, as in some containers.
  std::string WithoutCalls(const std::string& numbers) {
    return StandIn("exec " + ProgramPath("penstock-test-forbid") + " " + numbers + " " + Worker());
  }

  // Runs a daemon that must refuse to start.
  Ended Refused(const std::string& program, const std::string& daemon = "penstockd") {
    std::string config = Config("count: 1, program: " + program);
    config.replace(config.find("SOCKET"), 6, folder_.path() + "/run/penstock.sock");
    std::ofstream(folder_.path() + "/config.yaml") << config;
    return RunProgram(daemon, {"--config", folder_.path() + "/config.yaml"});
  }

  // Runs a daemon beside which there is this instead of penstock-indexer; empty: nothing.
  Ended RefusedWithIndexer(const std::string& script) {
    const std::string daemon = folder_.path() + "/penstockd";
    fs::copy_file(ProgramPath("penstockd"), daemon);
    if (!script.empty()) fs::rename(StandIn(script), folder_.path() + "/penstock-indexer");
    return Refused(ProgramPath("penstock-worker"), daemon);
  }
  std::string Indexer() { return ProgramPath("penstock-indexer") + " \"$@\""; }

  // A daemon that has opened a dataset of a shard, so that an indexer of it still waits for more.
  std::unique_ptr<DaemonProcess> DaemonWithIndexer(const std::string& workers) {
    std::ofstream(folder_.path() + "/x.tar") << TarFile("a.jpg", "image") << TarEnd();
    std::string config = Config(workers);
    config += "  - {name: shards, tar: {shards: ['" + folder_.path() + "/x.tar']}}\n";
    auto daemon = std::make_unique<DaemonProcess>(
        DaemonProcess::Options{.config = config, .user = DaemonUser()});
    EXPECT_EQ(daemon->Ctl({"index", "shards"}).exit_code, 0);
    EXPECT_EQ(daemon->IndexerPids().size(), 1u);
    return daemon;
  }

  // Runs what follows with a hole in its Landlock domain (landlock_hole.cc).
  std::string WithHole(const std::string& which) {
    return "PENSTOCK_TEST_HOLE=" + which + " LD_PRELOAD=" PENSTOCK_LANDLOCK_HOLE " exec ";
  }
  int LandlockVersion() { return static_cast<int>(::syscall(444, nullptr, 0, 1)); }

  TemporaryDirectory folder_;
};

TEST_F(SandboxStartTest, ADaemonProvesItAndShowsIt) {
  const uint16_t port = FreePort();
  DaemonProcess daemon(
      {.workers = 2,
       .config = Config("count: 2", ", metrics_address: '127.0.0.1:" + std::to_string(port) + "'"),
       .user = DaemonUser()});

  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), size_t{kImages});

  EXPECT_EQ(daemon.Status().sandbox(), LandlockVersion() < 1 ? "seccomp" : "seccomp and landlock");
  EXPECT_THAT(daemon.Ctl({"status"}).output, HasSubstr("sandbox   seccomp"));
  EXPECT_THAT(daemon.log(), HasSubstr("sandbox=\"seccomp"));
  const std::string page = Scrape(port);
  EXPECT_EQ(ValueOf(page, "penstock_workers_sandboxed"), 1);
  EXPECT_EQ(ValueOf(page, "penstock_forbidden_calls_total"), 0);
}

TEST_F(SandboxStartTest, EachWorkerIsShutInAndHoldsOnlyItsChannel) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can look into a worker";
  DaemonProcess daemon({.workers = 2, .config = Config("count: 2"), .user = DaemonUser()});
  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), size_t{kImages});

  ASSERT_FALSE(daemon.WorkerPids().empty());
  for (const pid_t pid : daemon.WorkerPids()) {
    ExpectShutIn(pid);
    // /dev/null twice, to occupy these numbers; standard error; the socket; the two notifiers. The
    // worker maps the channel and the segments and closes their descriptors.
    EXPECT_THAT(Held(pid),
                ::testing::UnorderedElementsAre("0 /dev/n", "1 /dev/n", ::testing::StartsWith("2 "),
                                                "3 socket", "5 socket", "6 anon_i"));
  }
}

TEST_F(SandboxStartTest, EachIndexerIsShutInAndHoldsOnlyItsSocket) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can look into an indexer";
  const auto daemon = DaemonWithIndexer("count: 1");

  for (const pid_t pid : daemon->IndexerPids()) {
    ExpectShutIn(pid);
    EXPECT_THAT(Held(pid), ::testing::UnorderedElementsAre(
                               "0 /dev/n", "1 /dev/n", ::testing::StartsWith("2 "), "3 socket"));
  }
}

// Tests what another process of the daemon's user can do.
TEST_F(SandboxStartTest, NobodyOfItsUserLooksIntoTheDaemon) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  DaemonProcess daemon({.config = Config("count: 1"), .user = DaemonUser()});
  const std::string proc = "/proc/" + std::to_string(daemon.pid());
  const auto as_its_user = [&](const std::function<bool()>& run) {
    const pid_t child = ::fork();
    if (child == 0) {
      DaemonUser().Become();
      ::_exit(run() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  const auto opens = [&](const char* name, int flags) {
    return as_its_user([&] { return ::open((proc + name).c_str(), flags) >= 0; });
  };

  EXPECT_FALSE(opens("/mem", O_RDONLY));
  EXPECT_FALSE(opens("/mem", O_RDWR));
  EXPECT_FALSE(opens("/maps", O_RDONLY));
  EXPECT_FALSE(opens("/environ", O_RDONLY));
  EXPECT_FALSE(opens("/fd", O_RDONLY | O_DIRECTORY));
  EXPECT_FALSE(as_its_user([&] { return ::ptrace(PTRACE_SEIZE, daemon.pid(), 0, 0) == 0; }));
  EXPECT_TRUE(opens("/status", O_RDONLY));  // penstockctl check reads these
  EXPECT_TRUE(opens("/limits", O_RDONLY));
}

TEST_F(SandboxStartTest, APrivateDaemonHasOneToo) {
  DaemonProcess daemon({.user = DaemonUser()});

  EXPECT_THAT(daemon.Status().sandbox(), HasSubstr("seccomp"));
}

TEST_F(SandboxStartTest, OffIsShownEverywhere) {
  const uint16_t port = FreePort();
  DaemonProcess daemon(
      {.config = Config("count: 1, sandbox: off",
                        ", metrics_address: '127.0.0.1:" + std::to_string(port) + "'"),
       .user = DaemonUser()});

  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), size_t{kImages});
  EXPECT_EQ(daemon.Status().sandbox(), "off");
  EXPECT_THAT(daemon.Ctl({"status"}).output, HasSubstr("sandbox   off: decoders and parsers have"));
  EXPECT_THAT(daemon.log(),
              AllOf(HasSubstr("level=warning event=sandbox_off"), HasSubstr("sandbox=off")));
  EXPECT_EQ(ValueOf(Scrape(port), "penstock_workers_sandboxed"), 0);
  for (const pid_t pid : daemon.WorkerPids())
    EXPECT_THAT(Contents("/proc/" + std::to_string(pid) + "/status"),
                AllOf(HasSubstr("Seccomp:\t0"), HasSubstr("NoNewPrivs:\t1")));
}

TEST_F(SandboxStartTest, OffReachesTheIndexersToo) {
  const auto daemon = DaemonWithIndexer("count: 1, sandbox: off");

  EXPECT_EQ(daemon->Status().sandbox(), "off");
  for (const pid_t pid : daemon->IndexerPids())
    EXPECT_THAT(Contents("/proc/" + std::to_string(pid) + "/status"),
                AllOf(HasSubstr("Seccomp:\t0"), HasSubstr("NoNewPrivs:\t1")));
}

TEST_F(SandboxStartTest, AHoleIsFoundAndNotServedWith) {
  const Ended ended = Refused(StandIn("LD_PRELOAD=" PENSTOCK_NO_FILTER " exec " + Worker()));

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("the attempt to"), HasSubstr("workers.sandbox: off"),
                                  Not(HasSubstr("event=serving"))));
}

TEST_F(SandboxStartTest, AHoleInTheIndexersSandboxIsFoundAndNotServedWith) {
  const Ended ended = RefusedWithIndexer("LD_PRELOAD=" PENSTOCK_NO_FILTER " exec " + Indexer());

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("the indexers' sandbox: in it, the attempt to"),
                    HasSubstr("workers.sandbox: off"), Not(HasSubstr("event=serving"))));
}

// The filter alone still stops everything, so that only attempts behind Landlock find these.
TEST_F(SandboxStartTest, AHoleInLandlockAloneIsFoundAndNotServedWith) {
  const int version = LandlockVersion();
  if (version < 1) GTEST_SKIP() << "this kernel has no Landlock";
  const std::map<std::string, int> holes = {
      {"all", 1}, {"files", 1}, {"network", 4}, {"scopes", 6}};
  for (const auto& [hole, since] : holes) {
    if (version < since) continue;
    const Ended ended = Refused(StandIn(WithHole(hole) + Worker()));

    EXPECT_EQ(ended.exit_code, 2) << hole;
    EXPECT_THAT(ended.output,
                AllOf(HasSubstr("the workers' sandbox: with Landlock alone, the attempt to"),
                      HasSubstr("succeeded"), Not(HasSubstr("event=serving"))))
        << hole;
  }
}

TEST_F(SandboxStartTest, AHoleInTheIndexersLandlockIsFoundAndNotServedWith) {
  if (LandlockVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  const Ended ended = RefusedWithIndexer(WithHole("all") + Indexer());

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("the indexers' sandbox: with Landlock alone, the attempt to"),
                    Not(HasSubstr("event=serving"))));
}

TEST_F(SandboxStartTest, AnIndexerThatCannotShutItselfInIsNotServedWith) {
  const Ended ended = RefusedWithIndexer("exec " + ProgramPath("penstock-test-forbid") + " " +
                                         std::to_string(SYS_seccomp) + " " + Indexer());

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("the indexers' sandbox: "),
                    HasSubstr("the container and the service manager must allow seccomp(2)")));
}

TEST_F(SandboxStartTest, WithoutAnIndexerBesideItItDoesNotServe) {
  const Ended ended = RefusedWithIndexer("");

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr(folder_.path() + "/penstock-indexer"));
}

TEST_F(SandboxStartTest, WithoutSeccompItDoesNotServe) {
  const Ended ended = Refused(WithoutCalls(std::to_string(SYS_seccomp)));

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("the container and the service manager must allow seccomp(2)"),
                    HasSubstr("workers.sandbox: off")));
}

TEST_F(SandboxStartTest, AProgramThatIsNoWorkerProvesNothing) {
  const Ended ended = Refused(StandIn("exit 0"));

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("its probe ended with exit code 0"));
}

TEST_F(SandboxStartTest, AMissingProgramIsNamed) {
  const Ended ended = Refused("/nonexistent/worker");

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("/nonexistent/worker"));
}

TEST_F(SandboxStartTest, WithoutLandlockItServesAndSaysSo) {
  const std::string program = WithoutCalls("444,445,446");
  DaemonProcess daemon({.config = Config("count: 1, program: " + program), .user = DaemonUser()});

  EXPECT_EQ(daemon.Status().sandbox(), "seccomp");
  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), size_t{kImages});
}

}  // namespace
}  // namespace penstock::testing
