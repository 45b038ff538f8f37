// Tests operations on a running daemon: drain, reload, workers, and who may use them.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/posix/fd.h"
#include "penstock/v1/admin.grpc.pb.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kImages = 64;
constexpr uint32_t kBatch = 8;  // eight batches per epoch
constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;

std::string Config(const std::string& server, const std::string& rest = "") {
  return "server: {socket: SOCKET, group: '', state_dir: ''" + server + "}\n" +
         "datasets: [{name: photographs, folder: " + Photographs(kImages) + "}]\n" + rest;
}

Session OpenOn(DaemonProcess& daemon, uint32_t window = 2) {
  SessionOptions options = SmallRows("photographs", kBatch);
  options.window = window;
  options.epochs = 0;
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  return client.Open(options).OrDie();
}

std::unique_ptr<v1::AdminService::Stub> AdminOf(DaemonProcess& daemon) {
  return v1::AdminService::NewStub(
      grpc::CreateChannel("unix:" + daemon.admin_address(), grpc::InsecureChannelCredentials()));
}

// ---- Draining ----

TEST(DrainTest, ADrainingDaemonOpensNothingAndSaysSoAndAnEpochUnderWayComesWhole) {
  DaemonProcess daemon({.workers = 1, .config = Config(", drain_for: 20s")});
  Session session = OpenOn(daemon);
  Delivered got;
  ASSERT_TRUE(TakeBatches(session, 3, got).ok());

  daemon.Signal(SIGTERM);
  ASSERT_TRUE(daemon.Eventually([&] { return daemon.Status().draining(); }));
  Client late = Client::Connect({.address = daemon.address()}).OrDie();
  const Status refused = late.Open(SmallRows("photographs", kBatch)).status();
  const Status end_of_epoch = TakeBatches(session, 100, got);
  EXPECT_EQ(got.rows.size(), static_cast<size_t>(kImages));
  const Status rest = TakeBatches(session, 100, got);

  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("draining"));
  EXPECT_EQ(end_of_epoch.code(), Code::kEndOfEpoch) << end_of_epoch.message();
  // Not kEndOfEpoch or an end of data, which a trainer would take for a normal end.
  EXPECT_EQ(rest.code(), Code::kUnavailable) << rest.message();
  EXPECT_THAT(rest.message(), HasSubstr("the same batch"));
  EXPECT_EQ(daemon.Kill(0), 0) << daemon.log();
  EXPECT_THAT(daemon.log(), HasSubstr("all sessions have ended"));
}

TEST(DrainTest, WhoeverDoesNotFinishInTimeIsToldAndTheEndIsOrderly) {
  DaemonProcess daemon({.workers = 1, .config = Config(", drain_for: 1s")});
  Session session = OpenOn(daemon);
  Delivered got;
  ASSERT_TRUE(TakeBatches(session, 1, got).ok());
  const auto before = steady_clock::now();

  EXPECT_EQ(daemon.Kill(SIGTERM), 0);

  EXPECT_GE(steady_clock::now() - before, milliseconds(900));
  EXPECT_THAT(daemon.log(), HasSubstr("1 sessions did not finish their epochs"));
  EXPECT_EQ(TakeBatches(session, 100, got).code(), Code::kUnavailable);
}

TEST(DrainTest, ASecondSignalEndsItAtOnceAndWithoutSessionsTheFirstDoes) {
  DaemonProcess daemon({.workers = 1, .config = Config(", drain_for: 60s")});
  Session session = OpenOn(daemon);
  daemon.Signal(SIGTERM);
  ASSERT_TRUE(daemon.Eventually([&] { return daemon.Status().draining(); }));

  EXPECT_EQ(daemon.Kill(SIGTERM), 0);
  daemon.Start();
  const auto before = steady_clock::now();
  EXPECT_EQ(daemon.Kill(SIGTERM), 0);
  EXPECT_LT(steady_clock::now() - before, seconds(5));
}

TEST(DrainTest, AnOperatorSeesWhomItWaitsForAndMayChangeTheirMind) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  Session session = OpenOn(daemon);
  Delivered got;
  ASSERT_TRUE(TakeBatches(session, 3, got).ok());

  const Ended held = daemon.Ctl({"drain", "--deadline", "1s"});
  EXPECT_EQ(held.exit_code, 1) << held.output;
  EXPECT_THAT(held.output, AllOf(HasSubstr("photographs"), HasSubstr("5 batches"),
                                 HasSubstr("1 session has not finished")));
  EXPECT_TRUE(daemon.Status().draining());
  EXPECT_FALSE(daemon.Status().serving());

  const Ended back = daemon.Ctl({"drain", "--cancel"});
  EXPECT_EQ(back.exit_code, 0) << back.output;
  EXPECT_TRUE(daemon.Status().serving());
  Session another = OpenOn(daemon);
  EXPECT_TRUE(TakeBatches(session, 5, got).ok());
  EXPECT_TRUE(another.Close().ok());

  EXPECT_TRUE(session.Close().ok());
  const Ended done = daemon.Ctl({"drain"});
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("no session is left"));
}

TEST(DrainTest, AStoppedTrainerDoesNotHoldUpTheOthersEnd) {
  DaemonProcess daemon({.workers = 1, .config = Config(", drain_for: 2s")});
  Session idle = OpenOn(daemon);
  Session busy = OpenOn(daemon);
  Delivered got;
  ASSERT_TRUE(TakeBatches(busy, 3, got).ok());
  daemon.Signal(SIGTERM);
  ASSERT_TRUE(daemon.Eventually([&] { return daemon.Status().draining(); }));

  EXPECT_EQ(TakeBatches(busy, 100, got).code(), Code::kEndOfEpoch);
  EXPECT_EQ(got.rows.size(), static_cast<size_t>(kImages));

  EXPECT_EQ(daemon.Kill(0), 0);
  EXPECT_THAT(daemon.log(), HasSubstr("1 sessions did not finish"));
}

// ---- Reloading ----

TEST(ReloadTest, ABrokenFileOrWhatCannotChangeLeavesAllAsItWasAndSaysWhere) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  Session session = OpenOn(daemon);

  daemon.Rewrite(Config("", "log: {level: loud}\n"));
  const Ended broken = daemon.Ctl({"reload"});
  daemon.Rewrite(Config("", "pool: {max: 8GiB}\nlog: {level: debug}\n"));
  const Ended fixed = daemon.Ctl({"reload"});

  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.output, AllOf(HasSubstr("config.yaml:3: log.level"), HasSubstr("loud")));
  EXPECT_EQ(fixed.exit_code, 1);
  EXPECT_THAT(fixed.output, AllOf(HasSubstr("pool.max: 4.0 GiB, now 8.0 GiB"), HasSubstr("restart"),
                                  Not(HasSubstr("log.level"))));
  Delivered got;
  EXPECT_TRUE(TakeBatches(session, 3, got).ok());
}

TEST(ReloadTest, NewDatasetsAndLimitsHoldFromThenOnAndOpenSessionsGoOn) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  Session session = OpenOn(daemon);
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  ASSERT_FALSE(client.Open(SmallRows("more", kBatch)).ok());

  daemon.Rewrite(
      "server: {socket: SOCKET, group: '', state_dir: ''}\n"
      "limits: {max_sessions_per_user: 2}\ndatasets: [{name: more, folder: " +
      Photographs(kImages) + "}]\n");
  const Ended reloaded = daemon.Ctl({"reload"});
  Result<Session> more = client.Open(SmallRows("more", kBatch));
  const Status gone = client.Open(SmallRows("photographs", kBatch)).status();

  EXPECT_EQ(reloaded.exit_code, 0);
  EXPECT_THAT(reloaded.output, AllOf(HasSubstr("datasets: [photographs], now [more]"),
                                     HasSubstr("limits.max_sessions_per_user: 128, now 2")));
  EXPECT_TRUE(more.ok()) << more.status().message();
  EXPECT_EQ(gone.code(), Code::kNotFound);
  const Status third = client.Open(SmallRows("more", kBatch)).status();
  EXPECT_EQ(third.code(), Code::kResourceExhausted);
  EXPECT_THAT(third.message(), HasSubstr("limits.max_sessions_per_user"));
  Delivered got;
  EXPECT_TRUE(TakeBatches(session, 3, got).ok());
}

TEST(ReloadTest, TheHangUpSignalReloadsToo) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  daemon.Rewrite(Config("", "log: {level: warning}\n"));

  daemon.Signal(SIGHUP);

  EXPECT_TRUE(daemon.Eventually(
      [&] { return daemon.Ctl({"reload"}).output.find("nothing changed") != std::string::npos; }));
}

TEST(ReloadTest, ByAFileThatTheDaemonDoesNotReadIsRefusedWithBothPaths) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  const std::string ours = daemon.config_path(), other = daemon.directory() + "/other.yaml";
  std::filesystem::copy_file(ours, other);
  std::filesystem::create_symlink(ours, daemon.directory() + "/link.yaml");

  const Ended refused = RunProgram("penstockd", {"--reload", other});
  const Ended linked = RunProgram("penstockd", {"--reload", daemon.directory() + "/link.yaml"});

  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("reads " + ours + ", not " + other));
  EXPECT_EQ(linked.exit_code, 0) << linked.output;
}

TEST(ReloadTest, APrivateDaemonHasNothingToReload) {
  DaemonProcess daemon({.workers = 1});

  const Ended ended = daemon.Ctl({"reload"});

  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr("no configuration"));
}

// ---- Workers, limits, logs ----

TEST(OperateTest, WorkersComeAndGoWhileATrainerIsFed) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  Session session = OpenOn(daemon);
  Delivered got;

  EXPECT_EQ(daemon.Ctl({"workers", "--set", "3"}).exit_code, 0);
  EXPECT_TRUE(TakeBatches(session, 4, got).ok());
  EXPECT_EQ(daemon.WorkerPids().size(), 3u);
  EXPECT_EQ(daemon.Ctl({"workers", "--set", "1"}).exit_code, 0);
  EXPECT_TRUE(TakeBatches(session, 4, got).ok());
  EXPECT_TRUE(daemon.Eventually([&] { return daemon.WorkerPids().size() == 1; }));
  EXPECT_EQ(daemon.Ctl({"workers", "--set", "0"}).exit_code, 2);
  EXPECT_EQ(daemon.Ctl({"workers", "--set", "2000"}).exit_code, 2);
}

TEST(OperateTest, OneUsersWindowsStayWithinTheirShareOfThePool) {
  DaemonProcess daemon({.workers = 1,
                        .config = Config("",
                                         "pool: {max: 16MiB}\n"
                                         "limits: {max_pool_per_user: 1%}\n")});
  Session session = OpenOn(daemon);  // 2 × 8 × 32 × 32 × 3 bytes: 49,152
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions large = SmallRows("photographs", kBatch);
  large.window = 16;

  const Status refused = client.Open(large).status();

  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("limits.max_pool_per_user"));
}

TEST(OperateTest, AShareOfTheWorkersIsEnoughForAnEpoch) {
  DaemonProcess daemon(
      {.workers = 2, .config = Config("", "limits: {max_workers_per_user: 1%}\n")});

  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", kBatch)).rows.size(),
            static_cast<size_t>(kImages));

  const auto slots = daemon.Workers();
  ASSERT_EQ(slots.workers_size(), 2);
  EXPECT_GE(slots.workers(0).samples_decoded(), static_cast<uint64_t>(kImages));
  EXPECT_EQ(slots.workers(1).samples_decoded(), 0u);  // it has the share of one worker
}

TEST(OperateTest, AsJsonEveryLineOfTheLogIsAnObject) {
  DaemonProcess daemon({.workers = 1, .config = Config("", "log: {format: json}\n")});
  OneEpoch(daemon.address(), SmallRows("photographs", kBatch));
  EXPECT_EQ(daemon.Kill(SIGTERM), 0);

  const std::string script = daemon.directory() + "/read.py";
  std::ofstream(script) << "import json, sys\n"
                           "events = [json.loads(line) for line in open(sys.argv[1])]\n"
                           "assert all({'time', 'level', 'event'} <= e.keys() for e in events)\n"
                           "assert 'session_opened' in [e['event'] for e in events]\n";
  EXPECT_EQ(std::system(("python3 " + script + " " + daemon.directory() + "/log").c_str()), 0)
      << daemon.log();
}

TEST(OperateTest, WatchingShowsEverythingAgainAndAgainUntilItIsCancelled) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});
  Session session = OpenOn(daemon);
  const auto stub = AdminOf(daemon);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(10));
  v1::WatchStatusRequest request;
  request.set_interval_ms(100);

  const auto stream = stub->WatchStatus(&context, request);
  v1::WatchStatusResponse first, second;
  ASSERT_TRUE(stream->Read(&first) && stream->Read(&second));
  context.TryCancel();

  EXPECT_EQ(first.sessions_size(), 1);
  EXPECT_EQ(first.workers_size(), 1);
  EXPECT_EQ(first.status().feeds_size(), 1);
  EXPECT_GE(second.time_unix_ms() - first.time_unix_ms(), 90);
  EXPECT_EQ(daemon.Kill(SIGTERM), 0);  // no watcher delays the stop
}

// ---- Permissions ----

TEST(MayTest, WhoChangesWhatEverybodyGetsIsAnOperatorAndTheGroupReads) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::string config = Config("");
  config.replace(config.find("group: ''"), 9, "group: '" + std::to_string(kGroup) + "'");
  DaemonProcess daemon({.workers = 1, .config = config});
  const Identity member = {.user = kStranger, .groups = {kGroup}};
  const auto as_member = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", daemon.address()});
    return RunProgram("penstockctl", arguments, member);
  };

  EXPECT_EQ(as_member({"status"}).exit_code, 0);
  EXPECT_EQ(as_member({"sessions"}).exit_code, 0);
  for (const std::vector<std::string>& call : {std::vector<std::string>{"drain"},
                                               {"drain", "--cancel"},
                                               {"reload"},
                                               {"workers", "--set", "2"},
                                               {"quarantine", "clear", "photographs"}}) {
    const Ended ended = as_member(call);
    EXPECT_EQ(ended.exit_code, 1) << call[0];
    EXPECT_THAT(ended.output, HasSubstr("for operators"));
  }
  EXPECT_TRUE(daemon.Status().serving());
  EXPECT_FALSE(daemon.Status().draining());
}

}  // namespace
}  // namespace penstock::testing
