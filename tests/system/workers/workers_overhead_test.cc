// What decoding in workers costs beside bare loops of the same decoder, taken in one run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "server/decode/decoder.h"
#include "tests/system/workers/rig.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kRows = 64;
constexpr uint64_t kRounds = 8;

double Seconds(base::TimePoint since) {
  return std::chrono::duration<double>(base::Now() - since).count();
}

// Images a second of `count` processes that do nothing but decode, side by side.
double Bare(Rig& rig, const MemoryDataset& dataset, uint32_t count) {
  const base::TimePoint start = base::Now();
  for (uint32_t i = 0; i < count; ++i) {
    if (::fork() != 0) continue;
    decode::Decoder decoder({});
    std::vector<std::byte> row(decode::RowBytes({}));
    for (uint64_t n = i; n < kRows * kRounds; n += count) {
      const WorkItem item = rig.Item(n % kRows, n % dataset.samples());
      decoder.DecodeRow(dataset.file(item.sample), item.spec, item.key, row);
    }
    ::_exit(0);
  }
  while (::waitpid(0, nullptr, 0) > 0) {
  }
  return kRows * kRounds / Seconds(start);
}

double Workers(Rig& rig) {
  const base::TimePoint start = base::Now();
  for (uint64_t round = 0; round < kRounds; ++round) EXPECT_TRUE(rig.DecodeAll(kRows));
  return kRows * kRounds / Seconds(start);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

TEST(OverheadTest, WorkersReachMostOfBareLoops) {
  std::vector<std::vector<std::byte>> files;
  for (int i = 0; i < 16; ++i) files.push_back(MakeJpeg(500, 375, i));
  MemoryDataset dataset(std::move(files));
  const uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (uint32_t count = 1; count <= std::min(cores, 4u); ++count) {
    Rig rig(dataset, {.count = count}, kRows);
    Workers(rig);  // touches the memory
    std::vector<double> bare, workers;
    for (int run = 0; run < 5; ++run) {
      bare.push_back(Bare(rig, dataset, count));
      workers.push_back(Workers(rig));
    }

    const double ratio = Median(workers) / Median(bare);
    std::printf("%u workers on %u cores: %.0f images/s, bare loops %.0f, ratio %.3f\n", count,
                cores, Median(workers), Median(bare), ratio);
    // The goal is 0.90 on a quiet machine; what is asserted leaves room for a busy one.
    EXPECT_GT(ratio, count < cores ? 0.6 : 0.5);
  }
}

}  // namespace
}  // namespace penstock::workers
