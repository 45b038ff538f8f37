#include "tests/bench/feed/feed_shared.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "common/posix/machine.h"
#include "tests/bench/daemon.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/trainer.h"

namespace penstock::bench {
namespace {

constexpr uint32_t kTrainers = 8;
constexpr double kGoalOfEight = 7.9 / kTrainers;
constexpr uint32_t kBatch = 32, kWindow = 8;

struct Extents {
  int rounds;
  uint64_t samples;  // for each trainer and worker, in a run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, 640} : Extents{3, 128};
}

SessionOptions Shared(uint64_t seed) {
  SessionOptions options;
  options.dataset = Daemon::kDataset;
  options.batch_size = kBatch;
  options.order = Order::kSequential;
  options.flip_probability = 0.5;
  options.window = kWindow;
  options.epochs = 1'000'000;
  options.seed = seed;
  return options;
}

// Samples per second that as many trainers get together, each from its own thread.
absl::StatusOr<double> TakeTogether(Client& client, uint32_t count, uint64_t samples,
                                    uint64_t seed) {
  std::vector<Trainer> trainers;
  for (uint32_t i = 0; i < count; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(client, Shared(seed)));
    trainers.push_back(std::move(trainer));
  }
  std::vector<absl::StatusOr<uint64_t>> taken(count);
  const auto take_all = [&](uint64_t each) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] { taken[i] = trainers[i].Take(each); });
    for (std::thread& thread : threads) thread.join();
  };
  take_all(uint64_t{kWindow} * kBatch);  // untimed, until memory is touched and workers are busy
  const Stopwatch watch(Time::kWall);
  take_all(samples);
  const double seconds = watch.Seconds();
  uint64_t all = 0;
  for (const absl::StatusOr<uint64_t>& each : taken) {
    PENSTOCK_RETURN_IF_ERROR(each.status());
    all += *each;
  }
  return static_cast<double>(all) / seconds;
}

}  // namespace

absl::Status FeedShared(const Photographs& photographs, Extent extent, Result& result) {
  const Extents extents = ExtentsOf(extent);
  const uint32_t workers = std::max(1u, posix::ReadMachine().Cores() - 1);
  PENSTOCK_ASSIGN_OR_RETURN(Daemon daemon, Daemon::Start(photographs, workers));
  uint64_t seed = 100;  // so that no run finds decoded batches of another
  const auto together = [&](uint32_t count) {
    return TakeTogether(daemon.client(), count, workers * extents.samples, ++seed);
  };
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::vector<double> medians,
      AlternatingMedians({[&] { return together(kTrainers); }, [&] { return together(1); }},
                         extents.rounds));
  result.comparisons.push_back(
      {.name = absl::StrCat(kTrainers, " trainers of one feed, in total"),
       .against = absl::StrCat(kTrainers, " times what one trainer gets alone"),
       .unit = "images/s",
       .figure = medians[0],
       .reference = kTrainers * medians[1],
       .goal_ratio = kGoalOfEight});
  return absl::OkStatus();
}

}  // namespace penstock::bench
