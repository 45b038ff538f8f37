// Measures the sandbox's cost: each run compares workers with and without it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "common/posix/process.h"
#include "common/sandbox/probe/sandbox_probe.h"
#include "common/sandbox/sandbox.h"
#include "server/indexer/indexer_process.h"
#include "server/workers/worker_process.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/system/workers/rig.h"

namespace penstock::workers {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr uint64_t kRows = 64;
constexpr uint64_t kRounds = 4;

double Seconds(steady_clock::time_point since) {
  return duration<double>(steady_clock::now() - since).count();
}

// Uses the worker's own CPU time, so that other processes hardly affect the result.
double ImagesPerSecond(Rig& rig) {
  const pid_t pid = rig.Worker().pid;
  const auto before = posix::CpuTimeOf(pid);
  for (uint64_t round = 0; round < kRounds; ++round) EXPECT_TRUE(rig.DecodeAll(kRows));
  const auto after = posix::CpuTimeOf(pid);
  EXPECT_TRUE(before && after && rig.Worker().pid == pid);
  return static_cast<double>(kRows * kRounds) / duration<double>(*after - *before).count();
}

TEST(SandboxCostTest, DecodingIsAsFastAsWithoutIt) {
  std::vector<std::vector<std::byte>> files;
  for (int i = 0; i < 16; ++i) files.push_back(MakeJpeg(500, 375, i));
  MemoryDataset dataset(std::move(files));
  Rig inside(dataset, {.count = 1, .sandbox = SandboxMode::kOn}, kRows);
  Rig outside(dataset, {.count = 1, .sandbox = SandboxMode::kOff}, kRows);
  EXPECT_TRUE(inside.DecodeAll(kRows));  // starts the workers and touches the memory
  EXPECT_TRUE(outside.DecodeAll(kRows));
  double with = 0, without = 0;
  std::vector<double> ratios;

  for (int round = 0; round < 9; ++round) {
    const double before = ImagesPerSecond(outside);
    with = ImagesPerSecond(inside);
    without = (before + ImagesPerSecond(outside)) / 2;  // cancels out drift
    ratios.push_back(with / without);
  }

  std::sort(ratios.begin(), ratios.end());
  std::printf("decoding in the sandbox: %.0f images/s, %.0f without it: %.3f (%.3f to %.3f)\n",
              with, without, ratios[4], ratios.front(), ratios.back());
  EXPECT_GT(ratios[4], 0.9);  // the goal is 0.99 on a quiet machine
}

// CPU time of the probes and their children.
double ProcessorSeconds() {
  rusage used;
  ::getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

TEST(SandboxCostTest, TheProofsTakeLittleProcessorTime) {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const double before = ProcessorSeconds();
    auto worker = sandbox::SandboxProbe::Start({.program = DefaultProgram(), .whose = "workers"});
    auto indexer =
        sandbox::SandboxProbe::Start({.program = indexer::DefaultProgram(), .whose = "indexers"});
    ASSERT_TRUE(worker.ok() && (*worker)->Finish().ok());
    ASSERT_TRUE(indexer.ok() && (*indexer)->Finish().ok());
    times.push_back((ProcessorSeconds() - before) * 1000);
  }
  std::sort(times.begin(), times.end());

  std::printf("the proofs take %.1f ms of one core\n", times[7]);
  if (sandbox::kIsInstrumented) return;
  EXPECT_LT(times[7], 40);  // ms; the goal is 20 for the whole start
}

double SecondsToStart(testing::DaemonProcess& daemon) {
  daemon.Kill(SIGKILL);
  const auto before = steady_clock::now();
  daemon.Start();
  return Seconds(before);
}

TEST(SandboxCostTest, TheStartIsMeasuredWithAndWithoutIt) {
  if (sandbox::kIsInstrumented) GTEST_SKIP() << "without a sandbox there is nothing to measure";
  const auto config = [](const std::string& sandbox) {
    return "server: {socket: SOCKET, group: '', state_dir: ''}\nworkers: {sandbox: " + sandbox +
           "}\npool: {max: 16MiB}\ndatasets: [{name: photographs, folder: " +
           testing::Photographs(24) + "}]\n";
  };
  testing::DaemonProcess inside({.config = config("on")}), outside({.config = config("off")});
  std::vector<double> with, without;
  for (int i = 0; i < 9; ++i) {
    with.push_back(SecondsToStart(inside));
    without.push_back(SecondsToStart(outside));
  }
  const auto median = [](std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] * 1000;
  };
  const double more = median(with) - median(without);

  std::printf("ready after %.1f ms with the sandbox and its proof, %.1f ms without: %.1f ms more\n",
              median(with), median(without), more);
  EXPECT_LT(more, 500);  // ms; the goal is 20 on a quiet machine; this one may be busy
}

}  // namespace
}  // namespace penstock::workers
