// A real daemon whose penstock-indexer is killed in the middle of a large shard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer.h"
#include "tests/support/programs/trainer_process.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;
constexpr int kImages = 24;
constexpr int kSamples = 150'000;  // it takes about a second to find them

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string PhotographShard() {
  std::string bytes;
  for (const auto& each : fs::recursive_directory_iterator(Photographs(kImages)))
    if (each.is_regular_file())
      bytes += TarFile(each.path().stem().string() + ".jpg", Contents(each.path()));
  return bytes + TarEnd();
}

std::string LargeShard() {
  std::string bytes;
  for (int i = 0; i < kSamples; ++i) bytes += TarHeaderBytes({.name = std::to_string(i) + ".txt"});
  return bytes + TarEnd();
}

class KilledIndexerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    folder_.Write("large.tar", LargeShard());
    folder_.Write("small.tar", PhotographShard());
  }
  // `server`: more keys of it, each after a comma.
  std::string Config(const std::string& server = "") const {
    const auto dataset = [this](const std::string& name) {
      return "  - {name: " + name + ", tar: {shards: ['" + folder_.At(name + ".tar") + "']}}\n";
    };
    return "server: {socket: SOCKET, group: '" + std::to_string(kGroup) + "', state_dir: ''" +
           server + "}\npool: {max: 64MiB}\ndatasets:\n" + dataset("large") + dataset("small");
  }

  TempFolder folder_;
};

Status Open(const std::string& address, const std::string& dataset) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = 8;
  options.fields = {{.name = "txt", .max_length = 16}};
  return Client::Connect({.address = address}).OrDie().Open(options).status();
}

TEST_F(KilledIndexerTest, ItsOpeningFailsInWordsAndNobodyElseNotices) {
  DaemonProcess daemon({.workers = 1, .config = Config()});
  auto opening = std::async(std::launch::async, Open, daemon.address(), "large");
  ASSERT_TRUE(daemon.Eventually([&] { return !daemon.IndexerPids().empty(); }));
  const pid_t indexer = daemon.IndexerPids().front();
  ASSERT_EQ(::kill(indexer, SIGSTOP), 0);  // stays in the middle, for as long as this test takes
  ASSERT_EQ(opening.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  TrainerProcess stranger(daemon.address(), "small", "hold",
                          Identity{.user = kStranger, .groups = {kGroup}});
  EXPECT_EQ(opening.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  ASSERT_EQ(::kill(indexer, SIGKILL), 0);

  const Status failed = opening.get();
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(failed.message(), AllOf(HasSubstr("signal 9 (SIGKILL)"), HasSubstr("large.tar"),
                                      HasSubstr("open the dataset again")));
  EXPECT_EQ(daemon.Status().sessions(), 1u);  // the stranger's, undisturbed
  const Status again = Open(daemon.address(), "large");
  EXPECT_TRUE(again.ok()) << again.message();
}

TEST_F(KilledIndexerTest, OneThatItsSandboxKilledIsCountedInStatusAndMetrics) {
  const uint16_t port = FreePort();
  DaemonProcess daemon(
      {.workers = 1,
       .config = Config(", metrics_address: '127.0.0.1:" + std::to_string(port) + "'")});
  EXPECT_EQ(ValueOf(Scrape(port), "penstock_forbidden_calls_total"), 0);
  auto opening = std::async(std::launch::async, Open, daemon.address(), "large");
  ASSERT_TRUE(daemon.Eventually([&] { return !daemon.IndexerPids().empty(); }));
  ASSERT_EQ(::kill(daemon.IndexerPids().front(), SIGSYS), 0);  // as its sandbox does it

  EXPECT_THAT(opening.get().message(), HasSubstr("signal 31 (SIGSYS)"));
  EXPECT_EQ(daemon.Status().forbidden_calls(), 1u);
  // Metrics may be as old as the scrape before.
  EXPECT_TRUE(daemon.Eventually(
      [&] { return ValueOf(Scrape(port), "penstock_forbidden_calls_total") == 1; }));
  EXPECT_THAT(daemon.Ctl({"status"}).output, HasSubstr("the sandbox killed 1 process"));
}

}  // namespace
}  // namespace penstock::testing
