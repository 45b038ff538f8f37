// Tests configurations that are not regular files: anybody with write access to the folder could
// put one there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

// open(2) of a FIFO without a writer blocks for ever.
TEST(ConfigFileTest, AFifoIsRefusedInWordsAndSignalsAreStillHeard) {
  const uint16_t port = FreePort();
  DaemonProcess daemon({.workers = 1,
                        .config = "server: {socket: SOCKET, group: '', state_dir: '', "
                                  "metrics_address: \"127.0.0.1:" +
                                  std::to_string(port) +
                                  "\"}\n"
                                  "pool: {max: 64MiB}\ndatasets: [{name: photographs, folder: " +
                                  Photographs(16) + "}]\n"});
  const std::string path = daemon.directory() + "/config.yaml";
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  daemon.Signal(SIGHUP);

  EXPECT_TRUE(daemon.Eventually(
      [&] { return daemon.log().find("is a FIFO, wanted a regular file") != std::string::npos; }));
  EXPECT_THAT(daemon.log(), HasSubstr("reload_refused"));
  const std::string refusals =
      "penstock_refusals_total{method=\"SIGHUP\",reason=\"configuration\"}";
  EXPECT_TRUE(daemon.Eventually([&] { return ValueOf(Scrape(port), refusals) == 1; }));
  EXPECT_THAT(daemon.Ctl({"status"}).exit_code, 0);
  EXPECT_EQ(daemon.Kill(SIGTERM), 0);
}

TEST(ConfigFileTest, OneThatIsNoFileAtTheStartIsRefusedAtOnce) {
  TemporaryDirectory folder;
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);

  const Ended from_fifo = RunProgram("penstockd", {"--config", fifo});
  const Ended from_folder = RunProgram("penstockd", {"--config", folder.path()});

  EXPECT_EQ(from_fifo.exit_code, 2);
  EXPECT_THAT(from_fifo.output, HasSubstr("is a FIFO, wanted a regular file"));
  EXPECT_EQ(from_folder.exit_code, 2);
  EXPECT_THAT(from_folder.output, HasSubstr("is a directory"));
}

}  // namespace
}  // namespace penstock::testing
