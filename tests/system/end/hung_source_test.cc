// SIGTERM while a read does not come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "tests/support/daemon_process.h"
#include "tests/support/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr int kImages = 48;

class HungSourceTest : public ::testing::Test {
 protected:
  // The daemon inherits what makes its reads hang.
  HungSourceTest() {
    fs::copy(Photographs(kImages), folder_, fs::copy_options::recursive);
    setenv("PENSTOCK_TEST_FOLDER", folder_.c_str(), 1);
    setenv("LD_PRELOAD", PENSTOCK_HANGING_READS, 1);
    const char* asan = std::getenv("ASAN_OPTIONS");
    const std::string options =
        std::string(asan == nullptr ? "" : asan) + ":verify_asan_link_order=0";
    setenv("ASAN_OPTIONS", options.c_str(), 1);
    daemon_.emplace(DaemonProcess::Options{.workers = 2});
  }
  ~HungSourceTest() override { unsetenv("LD_PRELOAD"); }

  void GoAway() { std::ofstream(folder_ + ".away") << "away"; }
  void ComeBack() { fs::remove(folder_ + ".away"); }

  bool SomeReadHangs() { return fs::exists(folder_ + ".hung"); }

  // Ends the daemon by SIGTERM, as it should; and it can be started again.
  void ExpectOrderlyEnd() {
    const std::vector<pid_t> workers = daemon_->WorkerPids();
    const auto asked = steady_clock::now();

    EXPECT_EQ(daemon_->Kill(SIGTERM), 0);

    EXPECT_LT(steady_clock::now() - asked, seconds(8));
    EXPECT_FALSE(fs::exists(daemon_->address()));
    EXPECT_FALSE(fs::exists(daemon_->address() + ".door"));
    EXPECT_TRUE(daemon_->Eventually([&] {
      return std::none_of(workers.begin(), workers.end(),
                          [](pid_t pid) { return kill(pid, 0) == 0; });
    }));
    ComeBack();
    daemon_->Start();
    EXPECT_EQ(OneEpoch(daemon_->address(), SmallRows(folder_, 8)).rows.size(), size_t{kImages});
  }

  TemporaryDirectory scratch_;
  const std::string folder_ = scratch_.path() + "/data";
  std::optional<DaemonProcess> daemon_;
};

TEST_F(HungSourceTest, AReadThatDoesNotComeBackDoesNotHoldUpTheEnd) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  SessionOptions options = SmallRows(folder_, 8);
  options.epochs = 0;
  Session session = client.Open(options).OrDie();
  GoAway();
  ASSERT_TRUE(daemon_->Eventually([&] {
    (void)session.Next(std::chrono::milliseconds(10));
    return SomeReadHangs();
  }));

  ExpectOrderlyEnd();
}

TEST_F(HungSourceTest, AFolderThatCannotBeListedDoesNotHoldUpTheEnd) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  GoAway();
  Status status;
  std::thread opener([&] { status = client.Open(SmallRows(folder_, 8)).status(); });
  EXPECT_TRUE(daemon_->Eventually([&] { return SomeReadHangs(); }));

  ExpectOrderlyEnd();

  opener.join();
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace penstock::testing
