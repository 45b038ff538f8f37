// One user cannot harm others at the doorway. Two users and the daemon each have their own uid,
// none of them root, and the daemon's limit on open files is low enough for a test to reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/intruder.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kDaemon = 54320, kMallory = 54321, kAlice = 54323;
constexpr gid_t kGroup = 54322;

class DoorwaySharesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  }

  std::unique_ptr<DaemonProcess> DaemonWith(int files, const std::string& more = "") {
    const std::filesystem::path data = Photographs(16);
    std::filesystem::permissions(data.parent_path(), std::filesystem::perms(0755));
    return std::make_unique<DaemonProcess>(
        DaemonProcess::Options{.workers = 2,
                               .config = "server: {socket: SOCKET, group: '" +
                                         std::to_string(kGroup) + "', state_dir: ''" + more +
                                         "}\npool: {max: 64MiB}\n"
                                         "datasets: [{name: photographs, folder: " +
                                         Photographs(16) + "}]\n",
                               .user = {.user = kDaemon, .groups = {kGroup}},
                               .under = {"/usr/bin/prlimit", "--nofile=" + std::to_string(files)}});
  }

  // Trains a whole epoch as another user.
  static Ended TrainAsAlice(DaemonProcess& daemon) {
    return RunProgram("penstock-test-trainer", {daemon.address(), "photographs", "take"},
                      {.user = kAlice, .groups = {kGroup}});
  }

  const Identity mallory_ = {.user = kMallory, .groups = {kGroup}};
};

// Descriptors in unread messages count against the daemon's user, until the system refuses to pass
// more to anybody.
TEST_F(DoorwaySharesTest, WhoNeverReadsItsDoorwayFailsAloneAndTheDaemonLivesOn) {
  const auto daemon = DaemonWith(512);
  const Intruder mallory(daemon->address(), "unread", mallory_);

  EXPECT_THAT(mallory.words(), ::testing::AnyOf(HasSubstr("not read"), HasSubstr("not received"),
                                                HasSubstr("doorway first")));
  const Ended alice = TrainAsAlice(*daemon);
  EXPECT_EQ(alice.exit_code, 0) << alice.output;
  EXPECT_THAT(daemon->log(), Not(HasSubstr("worker_died")));  // no worker was killed because of it
  EXPECT_THAT(daemon->log(), HasSubstr("doorway_not_read"));
  // Once more: a disconnected client still counts while it holds unread messages.
  const Intruder again(daemon->address(), "unread", mallory_);
  const Ended later = TrainAsAlice(*daemon);
  EXPECT_EQ(later.exit_code, 0) << later.output;
}

TEST_F(DoorwaySharesTest, OneUserTakesHalfOfThePlacesAndIsToldSo) {
  const auto daemon = DaemonWith(20'000, ", max_connections: 64");

  Intruder mallory(daemon->address(), "places", mallory_);

  EXPECT_EQ(mallory.count(), 32);
  EXPECT_THAT(mallory.words(),
              AllOf(HasSubstr("user " + std::to_string(kMallory)), HasSubstr("max_connections")));
  EXPECT_EQ(TrainAsAlice(*daemon).exit_code, 0);
  EXPECT_EQ(daemon->Ctl({"status"}).exit_code, 0);
  mallory.Kill();
  EXPECT_TRUE(daemon->Eventually(
      [&] { return Intruder(daemon->address(), "places", mallory_).count() == 32; }));
}

// A process may create a loader for each epoch.
TEST_F(DoorwaySharesTest, WhoComesAndGoesFiveThousandTimesIsStillServedAndSoAreOthers) {
  const auto daemon = DaemonWith(20'000);

  const Intruder visitor(daemon->address(), "visits", mallory_);

  EXPECT_EQ(visitor.count(), 5'000) << visitor.words();
  EXPECT_EQ(TrainAsAlice(*daemon).exit_code, 0);
  EXPECT_TRUE(daemon->Eventually([&] { return OpenDescriptorsOf(daemon->pid()) < 100; }));
}

TEST_F(DoorwaySharesTest, OutOfOpenFilesClientsAreToldOfTheLimitAndTheOperatorComesThrough) {
  const auto daemon = DaemonWith(160, ", max_connections: 4096");

  Intruder mallory(daemon->address(), "places", mallory_);
  const Intruder second(daemon->address(), "places", {.user = kMallory + 5, .groups = {kGroup}});

  EXPECT_THAT(mallory.words() + second.words(), HasSubstr("LimitNOFILE"));
  const Ended status = RunProgram("penstockctl", {"--address", daemon->admin_address(), "status"});
  EXPECT_EQ(status.exit_code, 0) << status.output;
  const Ended alice = TrainAsAlice(*daemon);
  EXPECT_NE(alice.exit_code, 0);
  EXPECT_THAT(alice.output, HasSubstr("LimitNOFILE"));
  mallory.Kill();
  EXPECT_TRUE(daemon->Eventually([&] { return TrainAsAlice(*daemon).exit_code == 0; }, 20));
}

// Closing the last copy of a descriptor closes the file, which takes as long as the file's creator
// wants.
TEST_F(DoorwaySharesTest, WhoPassesSocketsThatTakeLongToCloseHoldsUpNobody) {
  const auto daemon = DaemonWith(20'000);

  const Intruder mallory(daemon->address(), "linger", mallory_);
  const auto began = std::chrono::steady_clock::now();
  const Ended alice = TrainAsAlice(*daemon);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

  EXPECT_EQ(mallory.count(), 40);
  EXPECT_EQ(alice.exit_code, 0) << alice.output;
  EXPECT_LT(took.count(), 10);  // one alone takes 20 s
  EXPECT_THAT(daemon->log(), HasSubstr("passes a descriptor"));
}

// pool.max limits the pool's memory, even if clients keep segments mapped.
TEST_F(DoorwaySharesTest, MemoryThatThePoolGaveUpIsFreeAlthoughAClientKeepsItMapped) {
  const auto daemon = DaemonWith(20'000);  // 64 MiB: some eight of the ten sessions' windows

  const Intruder mallory(daemon->address(), "hoard", mallory_);

  std::printf("a hoarder keeps %d KiB in %s\n", mallory.count(), mallory.words().c_str());
  EXPECT_THAT(mallory.words(), HasSubstr("segments"));
  EXPECT_GT(mallory.count(), 0);
  EXPECT_LE(mallory.count(), 64 << 10);
}

TEST_F(DoorwaySharesTest, AFloodOfHalfOpenConnectionsLetsAnotherUserIn) {
  const auto daemon = DaemonWith(20'000);

  const Intruder first(daemon->address(), "strangers", mallory_);
  const Intruder second(daemon->address(), "strangers", mallory_);

  for (int i = 0; i < 3; ++i) {
    const Ended alice = TrainAsAlice(*daemon);
    EXPECT_EQ(alice.exit_code, 0) << alice.output;
  }
  const std::string log = daemon->log();
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 100);
}

}  // namespace
}  // namespace penstock::testing
