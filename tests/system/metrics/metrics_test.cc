// Tests what the metrics port of a real daemon reports, and what it accepts from arbitrary clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MetricsTest : public ::testing::Test {
 protected:
  ~MetricsTest() override { unsetenv("LD_PRELOAD"); }

  std::string Config(const std::string& folder) const {
    return "server: {socket: SOCKET, group: '', state_dir: '', metrics_address: '127.0.0.1:" +
           std::to_string(port_) +
           "'}\npool: {max: 64MiB}\nlimits: {max_quarantined_minimum: 100}\n" +
           "datasets: [{name: photographs, folder: " + folder + "}]\n";
  }
  Ended Run(const std::string& address) {
    folder_.Write("p.yaml", "server: {socket: " + folder_.At("run/s") +
                                ", group: '', state_dir: '', metrics_address: '" + address +
                                "'}\n");
    return RunProgram("penstockd", {"--config", folder_.At("p.yaml")});
  }
  double Value(const std::string& series) { return ValueOf(Scrape(port_), series); }

  const uint16_t port_ = FreePort();
  TempFolder folder_;
};

TEST_F(MetricsTest, APortInUseEndsTheStartWithTheRemedy) {
  DaemonProcess daemon({.workers = 1, .config = Config(Photographs(24))});

  const Ended ended = Run("127.0.0.1:" + std::to_string(port_));

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("the port is in use; 'ss -ltnp' shows by whom"));
  EXPECT_NE(Scrape(port_), "");
}

TEST_F(MetricsTest, AnAddressThatIsNotThisMachinesEndsTheStart) {
  const Ended elsewhere = Run("192.0.2.1:9477");

  EXPECT_EQ(elsewhere.exit_code, 2);
  EXPECT_THAT(elsewhere.output, HasSubstr("this machine does not have that address"));
}

TEST_F(MetricsTest, AnAddressThatIsNoneIsRefusedWithItsLine) {
  const Ended ended = Run("unknown.example:9477");

  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              HasSubstr("p.yaml:1: server.metrics_address: got 'unknown.example:9477'"));
}

TEST_F(MetricsTest, GarbageIsAnsweredOrEndedAndTheNextScrapeIsServed) {
  DaemonProcess daemon({.workers = 1, .config = Config(Photographs(24))});

  EXPECT_THAT(Exchange(port_, "\x16\x03\x01\x02\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Exchange(port_, "POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Exchange(port_, "GET /../etc/passwd HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Exchange(port_, "GET /metrics HTTP/1.1\r\nX: " + std::string(100'000, 'x')),
              StartsWith("HTTP/1.1 431 "));
  std::string noise;
  for (int i = 0; i < 20'000; ++i) noise += static_cast<char>(i * 7919 >> 3);
  for (size_t from = 0; from < noise.size(); from += 1000) Exchange(port_, noise.substr(from));

  EXPECT_TRUE(daemon.Eventually([&] { return Value("penstock_ready") == 1; }));
  EXPECT_GE(Value("penstock_scrapes_failed_total{reason=\"refused\"}"), 4);
}

TEST_F(MetricsTest, AThousandHalfOpenConnectionsKeepNoScrapeAway) {
  DaemonProcess daemon({.workers = 1, .config = Config(Photographs(24))});
  const size_t descriptors = OpenDescriptorsOf(daemon.pid());
  std::vector<posix::Fd> half_open;
  for (int i = 0; i < 1000; ++i) {
    half_open.push_back(ConnectTo(port_, milliseconds(50)));
    if (half_open.back().valid()) (void)!::write(half_open.back().get(), "GET /met", 8);
  }

  const auto began = std::chrono::steady_clock::now();
  const std::string page = Scrape(port_);

  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(10));
  EXPECT_EQ(ValueOf(page, "penstock_ready"), 1);
  EXPECT_LE(OpenDescriptorsOf(daemon.pid()), descriptors + 64 + 1);
  EXPECT_TRUE(daemon.Eventually([&] { return OpenDescriptorsOf(daemon.pid()) <= descriptors; }));
  EXPECT_GE(Value("penstock_scrapes_failed_total{reason=\"dropped\"}"), 64);
}

TEST_F(MetricsTest, AThousandScrapesAtOnceAreAllAnswered) {
  DaemonProcess daemon({.workers = 1, .config = Config(Photographs(24))});
  std::atomic<int> answered = 0;
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 50; ++i)
    scrapers.emplace_back([&] {
      for (int j = 0; j < 20; ++j) answered += Scrape(port_, seconds(60)).empty() ? 0 : 1;
    });
  for (std::thread& scraper : scrapers) scraper.join();

  EXPECT_EQ(answered, 1000);
}

TEST_F(MetricsTest, ADaemonWhoseRunnerIsStuckStillAnswersAndSaysSo) {
#if defined(PENSTOCK_ASAN)
  GTEST_SKIP() << "AddressSanitizer wants to be the first library that is loaded";
#endif
  setenv("PENSTOCK_TEST_STUCK", folder_.At("stuck").c_str(), 1);
  setenv("LD_PRELOAD", PENSTOCK_STUCK_RUNNER, 1);
  DaemonProcess daemon({.workers = 1, .config = Config(Photographs(24))});
  unsetenv("LD_PRELOAD");
  ASSERT_LT(Value("penstock_runner_last_pass_age_seconds"), 1);

  folder_.Write("stuck", "");
  std::this_thread::sleep_for(seconds(3));

  const std::string page = Scrape(port_);
  EXPECT_GE(ValueOf(page, "penstock_runner_last_pass_age_seconds"), 2);
  EXPECT_GE(ValueOf(page, "penstock_snapshot_age_seconds"), 2);
  EXPECT_EQ(ValueOf(page, "penstock_datasets_open"), 0);  // the last known value
  EXPECT_EQ(ValueOf(page, "penstock_workers_wanted"), 1);

  std::filesystem::remove(folder_.At("stuck"));
  EXPECT_TRUE(
      daemon.Eventually([&] { return Value("penstock_runner_last_pass_age_seconds") < 1; }));
}

TEST_F(MetricsTest, WhatWasDoneIsCountedAlsoWhenTheSessionIsGone) {
  const std::string folder = folder_.At("photographs");
  std::filesystem::copy(Photographs(24), folder, std::filesystem::copy_options::recursive);
  const auto first = std::filesystem::directory_iterator(folder)->path();
  std::ofstream(std::filesystem::directory_iterator(first)->path()) << "not an image";
  DaemonProcess daemon({.workers = 1, .config = Config(folder)});

  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), 24u);
  ASSERT_TRUE(daemon.Eventually([&] { return Value("penstock_sessions_open") == 0; }));
  ASSERT_TRUE(daemon.Eventually([&] { return Value("penstock_connections") == 0; }));

  const std::string page = Scrape(port_);
  const auto of = [&](const std::string& name) {
    return ValueOf(page, "penstock_" + name + "{dataset=\"photographs\"}");
  };
  EXPECT_EQ(of("samples_decoded_total"), 24);
  EXPECT_EQ(of("samples_replaced_total"), 1);
  EXPECT_EQ(of("batches_decoded_total"), 3);
  EXPECT_EQ(of("batches_announced_total"), 3);
  EXPECT_EQ(of("dataset_samples"), 24);
  EXPECT_EQ(ValueOf(page, "penstock_bad_samples{dataset=\"photographs\",reason=\"not an image\"}"),
            1);
  EXPECT_EQ(ValueOf(page, "penstock_feeds"), 0);
}

TEST_F(MetricsTest, AnOpenSessionIsSeenWithItsWindowAndItsBatches) {
  DaemonProcess daemon({.workers = 1, .config = Config(Photographs(24))});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows("photographs", 8);
  options.window = 3;
  Session session = client.Open(options).OrDie();
  Batch held = session.Next().OrDie();

  EXPECT_TRUE(daemon.Eventually([&] { return Value("penstock_held_batches") == 1; }));
  EXPECT_TRUE(daemon.Eventually([&] { return Value("penstock_ready_batches") == 2; }));
  EXPECT_TRUE(daemon.Eventually([&] { return Value("penstock_pool_reserved_bytes") > 0; }));

  const std::string page = Scrape(port_);
  EXPECT_EQ(ValueOf(page, "penstock_sessions_open"), 1);
  EXPECT_EQ(ValueOf(page, "penstock_connections"), 1);
  EXPECT_EQ(ValueOf(page, "penstock_window_batches"), 3);
  EXPECT_EQ(ValueOf(page, "penstock_held_batches"), 1);
  EXPECT_EQ(ValueOf(page, "penstock_slots{state=\"held\"}"), 3);
  EXPECT_THAT(page, Not(HasSubstr(Photographs(24))));  // the page reveals no path
}

TEST_F(MetricsTest, WithoutAnAddressNothingListens) {
  DaemonProcess daemon({.workers = 1});

  EXPECT_FALSE(ConnectTo(port_, seconds(1)).valid());
}

}  // namespace
}  // namespace penstock::testing
