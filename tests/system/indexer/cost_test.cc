// What it costs that processes parse: opening datasets with and without them, in one run.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/posix/limits.h"
#include "common/sandbox/sandbox.h"
#include "server/indexer/indexers.h"
#include "server/source/parse/directly.h"
#include "server/source/tar/tar.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::indexer {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

struct Cost {
  double ms = 0, cpu_ms = 0;
};

double CpuMs(int whose) {
  rusage used;
  ::getrusage(whose, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

Cost Measure(const std::function<void()>& work) {
  const double cpu = CpuMs(RUSAGE_SELF) + CpuMs(RUSAGE_CHILDREN);
  const auto begun = steady_clock::now();
  work();
  return {.ms = duration<double, std::milli>(steady_clock::now() - begun).count(),
          .cpu_ms = CpuMs(RUSAGE_SELF) + CpuMs(RUSAGE_CHILDREN) - cpu};
}

Cost Least(const Cost& a, const Cost& b) {
  return {.ms = std::min(a.ms, b.ms), .cpu_ms = std::min(a.cpu_ms, b.cpu_ms)};
}

class IndexerCostTest : public ::testing::Test {
 protected:
  void MakeShards(int shards, int samples) {
    std::string bytes;
    for (int i = 0; i < samples; ++i)
      bytes += testing::TarFile(std::to_string(i) + ".jpg", std::string(1000, 'x')) +
               testing::TarFile(std::to_string(i) + ".cls", "3");
    for (int i = 0; i < shards; ++i)
      folder_.Write("shard-" + std::to_string(1000 + i) + ".tar", bytes + testing::TarEnd());
  }

  // The whole cost of an opening, with the end of the processes that it needed.
  Cost Open(bool in_processes) {
    return Measure([&] {
      const auto parsers = in_processes ? indexers_->NewParsers() : source::DirectParsers();
      source::ShardOptions options;
      options.spec.shards = {folder_.path()};
      options.threads = 16;
      const auto opened = source::OpenTar(options, parsers);
      EXPECT_TRUE(opened.ok()) << opened.status();
    });
  }

  // What processes add to an opening: the least of several, because what else the machine does
  // only adds.
  Cost Compare(const char* what, int rounds) {
    (void)posix::GiveWay();  // as all do that open datasets, so that both have the same priority
    (void)Open(true);        // the page cache, and a file's tick
    Cost here = Open(false), there = Open(true);
    for (int i = 1; i < rounds; ++i) {
      here = Least(here, Open(false));
      there = Least(there, Open(true));
    }
    std::printf("%s: %.1f ms here, %.1f ms by processes; %.1f and %.1f ms of one core\n", what,
                here.ms, there.ms, here.cpu_ms, there.cpu_ms);
    return {.ms = there.ms - here.ms, .cpu_ms = there.cpu_ms - here.cpu_ms};
  }

  testing::TempFolder folder_;
  std::shared_ptr<Indexers> indexers_ = std::make_shared<Indexers>(Indexers::Options{
      .program = PENSTOCK_INDEXER, .cores = std::max(std::thread::hardware_concurrency(), 1u)});
};

// The limits leave room for a machine that is busy.
TEST_F(IndexerCostTest, OpeningOneFileIsHardlySlower) {
  if (sandbox::kIsInstrumented) GTEST_SKIP() << "without a sandbox there is nothing to measure";
  MakeShards(1, 100);
  EXPECT_LT(Compare("one shard", 15).ms, 100);  // the goal is 20
}

TEST_F(IndexerCostTest, TwoHundredSmallShardsNeedFewProcesses) {
  if (sandbox::kIsInstrumented) GTEST_SKIP() << "without a sandbox there is nothing to measure";
  MakeShards(200, 100);
  EXPECT_LT(Compare("200 shards", 9).cpu_ms, 60);  // 16 processes took 80
}

}  // namespace
}  // namespace penstock::indexer
