// Workers that foreign code has taken over can damage only their own user's rows.
// penstock-test-hostile-worker serves one user and penstock-worker another, with the same dataset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "common/sandbox/sandbox.h"
#include "tests/system/hostile/neighbours.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

struct Lie {
  std::string kind;
  std::string noticed;  // log text that reports the lie; empty if nobody can detect it
};
void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.kind; }

class HostileWorkerTest : public ::testing::TestWithParam<Lie> {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    const auto daemon = DaemonOfNeighbours({});
    expected_ = OneEpoch(daemon->address(), SmallRows("photographs", 8));
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    ASSERT_EQ(expected_.rows.size(), 64u);
  }
  ~HostileWorkerTest() override { unsetenv("PENSTOCK_TEST_HOSTILE"); }

  void StartDaemon(const std::string& kind, int workers = 2,
                   const std::string& time_outs = "start_timeout: 500ms, sample_timeout: 500ms") {
    const std::string part =
        kind + ":" + std::to_string(kHostileUid) + ":" + std::to_string(ChosenSeed());
    setenv("PENSTOCK_TEST_HOSTILE", part.c_str(), 1);
    daemon_ = DaemonOfNeighbours(
        {.workers = workers,
         .sections = "workers: {program: " + ProgramPath("penstock-test-hostile-worker") + ", " +
                     time_outs + "}\n"});
  }

  // Runs epochs as another user and checks their bytes. Returns the number of epochs.
  int EpochsFor(milliseconds time) {
    int epochs = 0;
    for (const auto end = steady_clock::now() + time; steady_clock::now() < end; ++epochs) {
      const Delivered got = OneEpoch(daemon_->address(), SmallRows("photographs", 8));
      EXPECT_TRUE(got == expected_) << "in epoch " << epochs;
      if (HasFailure()) break;
    }
    return epochs;
  }

  static Delivered expected_;
  std::unique_ptr<DaemonProcess> daemon_;
};
Delivered HostileWorkerTest::expected_;

// A worker that is never ready has seen no foreign byte. So the daemon takes its program for broken
// after 20 of them, which is after 17 s, and ends.
double SecondsOf(const std::string& kind) {
  const double seconds = ChosenSeconds(0.3);
  return kind == "never" ? std::min(seconds, 5.0) : seconds;
}

TEST_P(HostileWorkerTest, OnlyItsUsersRowsSufferAndItIsReplaced) {
  const auto& [kind, noticed] = GetParam();
  StartDaemon(kind);
  EXPECT_EQ(EpochsFor(milliseconds(1)), 1);  // warms the daemon up
  const Holdings before = HoldingsOf(daemon_->pid());
  int epochs = 0;
  Holdings peak;
  std::chrono::nanoseconds used;
  {
    const Persistent trainer("penstock-test-trainer", {daemon_->address(), "photographs", "flood"},
                             kHostile);
    const PeakOf measured(daemon_->pid());
    const auto cpu = CpuTimeOf(daemon_->pid());
    epochs = EpochsFor(milliseconds(static_cast<int>(1000 * SecondsOf(kind))));
    used = CpuTimeOf(daemon_->pid()) - cpu;
    if (!noticed.empty()) {
      EXPECT_TRUE(daemon_->Eventually([&, &noticed = noticed] {
        return daemon_->log().find(noticed) != std::string::npos;
      })) << daemon_->log();
    }
    epochs += EpochsFor(milliseconds(200));  // also covers what follows the worker's deaths
    peak = measured.peak();
  }
  std::printf(
      "%s: the neighbour had %d epochs; daemon's processor %.2f s; before: %s; "
      "at most: %s\n",
      kind.c_str(), epochs, std::chrono::duration<double>(used).count(), before.ToString().c_str(),
      peak.ToString().c_str());
  EXPECT_GE(epochs, 1);
  // Sanitizers need the standard error of workers, and keep freed memory.
  if (!sandbox::kIsInstrumented) {
    EXPECT_THAT(daemon_->log(), Not(HasSubstr("\nlevel=info event=forged")));
    EXPECT_LE(peak.private_bytes, before.private_bytes + (24u << 20));
  }
  EXPECT_LE(peak.descriptors, before.descriptors + 60);
  EXPECT_LE(peak.threads, before.threads + 24);
  // At most as many sleeping workers as worker slots, and as many that are dying as both together.
  EXPECT_LE(peak.children, 8u);
  // Workers that are never ready leave moments in which none is running, so serving is polled.
  EXPECT_TRUE(daemon_->Eventually([&] { return daemon_->Status().serving(); }));
  EXPECT_EQ(daemon_->Kill(SIGTERM), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, HostileWorkerTest,
    ::testing::Values(
        Lie{"phantom", "corrupted its channel"}, Lie{"disorder", "corrupted its channel"},
        Lie{"twice", "corrupted its channel"}, Lie{"foreign", "corrupted its channel"},
        Lie{"faults", "corrupted its channel"}, Lie{"counters", "corrupted its channel"},
        Lie{"random", "worker_died"}, Lie{"scribble", ""}, Lie{"liar", ""}, Lie{"early", ""},
        Lie{"talking", ""}, Lie{"silent", "took too long"}, Lie{"deaf", "took too long"},
        Lie{"ringing", "corrupted its channel"}, Lie{"clinging", "killed by signal 6"},
        Lie{"never", "not ready in time"}),
    [](const auto& each) { return each.param.kind; });

// With the default time-out of 30 s, so that whoever waited for it would be seen here.
class HangingWorkerTest : public HostileWorkerTest {
 protected:
  bool HangsEverywhere() {
    const auto slots = daemon_->Workers();
    return std::all_of(slots.workers().begin(), slots.workers().end(), [](const auto& each) {
      return each.user_id() == kHostileUid && each.in_hand_ms() > 0;
    });
  }
};

TEST_P(HangingWorkerTest, NobodyElseWaitsForItsTimeOut) {
  for (const int workers : {1, 2}) {
    SCOPED_TRACE(workers);
    StartDaemon(GetParam().kind, workers, "sample_timeout: 30s");
    const Persistent trainer("penstock-test-trainer", {daemon_->address(), "photographs", "flood"},
                             kHostile);
    ASSERT_TRUE(daemon_->Eventually([&] { return HangsEverywhere(); })) << daemon_->log();

    double longest = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
      const auto begin = steady_clock::now();
      EXPECT_EQ(EpochsFor(milliseconds(1)), 1);
      longest =
          std::max(longest, std::chrono::duration<double>(steady_clock::now() - begin).count());
    }

    std::printf("%d workers that hang: the neighbour's longest epoch took %.2f s\n", workers,
                longest);
    EXPECT_LT(longest, 15);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HangingWorkerTest, ::testing::Values(Lie{"silent", ""}),
                         [](const auto& each) { return each.param.kind; });

}  // namespace
}  // namespace penstock::testing
