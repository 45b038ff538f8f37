// Measures what one user's jobs cost another user's. Runs alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"
#include "tests/support/programs/trainer_process.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;
constexpr uint32_t kBatch = 8;
constexpr milliseconds kStep(20);  // the small job's own work per batch

std::string Config() {
  return "server: {socket: SOCKET, group: '" + std::to_string(kGroup) +
         "', state_dir: ''}\npool: {max: 256MiB}\n"
         "datasets: [{name: photographs, folder: " +
         Photographs(64) + "}]\n";
}

Session OpenSmallJob(DaemonProcess& daemon) {
  SessionOptions options = SmallRows("photographs", kBatch);
  options.window = 4;
  options.epochs = 0;
  return Client::Connect({.address = daemon.address()}).OrDie().Open(options).OrDie();
}

// Returns batches per second.
double RateOf(Session& session) {
  constexpr uint64_t kBatches = 100;
  Delivered got;
  const auto begun = steady_clock::now();
  while (got.batches < kBatches) {
    const Status end = TakeBatches(session, kBatches - got.batches, got, kStep);
    if (!end.ok() && end.code() != Code::kEndOfEpoch) return 0;
  }
  return kBatches / std::chrono::duration<double>(steady_clock::now() - begun).count();
}

// Other load on the machine only lowers a rate, so the best of several runs is the daemon's own.
TEST(BetweenUsersTest, WhoAsksForEverythingCostsASmallJobBesideItATenthAtMost) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
#if defined(PENSTOCK_ASAN) || defined(PENSTOCK_TSAN)
  GTEST_SKIP() << "sanitizers multiply processor time";
#endif
  DaemonProcess daemon({.workers = 1, .config = Config()});
  Session small = OpenSmallJob(daemon);
  const double alone = RateOf(small);

  std::vector<std::unique_ptr<TrainerProcess>> floods;
  for (int i = 0; i < 4; ++i)
    floods.push_back(std::make_unique<TrainerProcess>(
        daemon.address(), "photographs", "flood", Identity{.user = kStranger, .groups = {kGroup}}));
  double beside = 0;
  for (int run = 0; run < 5 && beside < 0.9 * alone; ++run)
    beside = std::max(beside, RateOf(small));

  std::printf("a small job: %.1f batches/s alone, %.1f beside four that take all they can: %.2f\n",
              alone, beside, beside / alone);
  EXPECT_GE(alone, 30);
  EXPECT_GE(beside, 0.9 * alone);
}

}  // namespace
}  // namespace penstock::testing
