// feed: a whole daemon that feeds one idle trainer, compared with the same number of processes that
// only decode the same samples. feed_shared.cc compares eight trainers with one, feed_shards.cc tar
// shards with folders, feed_rows.cc and feed_kept.cc stored and kept rows with memcpy.
#include <algorithm>
#include <set>

#include "common/posix/machine.h"
#include "tests/bench/bare_loops.h"
#include "tests/bench/daemon.h"
#include "tests/bench/feed/feed_kept.h"
#include "tests/bench/feed/feed_rows.h"
#include "tests/bench/feed/feed_shards.h"
#include "tests/bench/feed/feed_shared.h"
#include "tests/bench/harness/interrupt.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"
#include "tests/bench/trainer.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfBare = 0.90;
constexpr uint64_t kSeed = 1;
constexpr uint32_t kBatch = 32;
constexpr uint32_t kWindow = 4;
constexpr uint64_t kLeadBatches =
    kWindow + 2;                         // untimed, until memory is touched and workers are busy
constexpr uint64_t kEpochsApart = 1000;  // so that no run finds decoded batches of another

struct Extents {
  int rounds;
  uint64_t samples;  // for each worker, in one run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, 640} : Extents{3, 128};
}

// Opens one session, leaves its beginning untimed, and returns samples per second. `range` becomes
// the timed part.
absl::StatusOr<double> Feed(Client& client, uint64_t samples, BareLoops::Range& range) {
  SessionOptions options;
  options.dataset = Daemon::kDataset;
  options.batch_size = kBatch;
  options.order = Order::kSequential;
  options.flip_probability = 0.5;
  options.window = kWindow;
  options.state = State{.epoch = range.epoch, .seed = kSeed};
  PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(client, options));
  PENSTOCK_ASSIGN_OR_RETURN(range.first, trainer.Take(kLeadBatches * kBatch));
  const Stopwatch watch(Time::kWall);
  PENSTOCK_ASSIGN_OR_RETURN(range.count, trainer.Take(samples));
  return static_cast<double>(range.count) / watch.Seconds();
}

// Alternates between a daemon with `workers` workers and the same number of bare loops over the
// same samples.
absl::StatusOr<std::vector<double>> Measure(const Photographs& photographs, BareLoops& loops,
                                            uint32_t workers, const Extents& extents) {
  PENSTOCK_ASSIGN_OR_RETURN(Daemon daemon, Daemon::Start(photographs, workers));
  BareLoops::Range range;
  const auto feed = [&] {
    range.epoch += kEpochsApart;
    return Feed(daemon.client(), workers * extents.samples, range);
  };
  const auto bare = [&] { return loops.Run(range, workers); };
  return AlternatingMedians({feed, bare}, extents.rounds);
}

// The numbers of workers to measure: one core is left for the daemon and the trainer. The last
// number, all cores, has no goal.
std::set<uint32_t> WorkerCounts(uint32_t cores) {
  return {1, std::max(1u, cores / 2), std::max(1u, cores - 1), cores};
}

}  // namespace

absl::StatusOr<Result> RunFeed(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  const uint32_t cores = posix::ReadMachine().Cores();
  const Extents extents = ExtentsOf(arguments.extent);
  decode::Spec spec;
  spec.flip_probability = 0.5;
  PENSTOCK_ASSIGN_OR_RETURN(auto files, photographs.Load(Photographs::kMost));
  PENSTOCK_ASSIGN_OR_RETURN(
      BareLoops loops,
      BareLoops::Start({.files = std::move(files), .spec = spec, .seed = kSeed}, cores));

  Result result{.suite = "feed", .data = photographs.description(), .rounds = extents.rounds};
  for (const uint32_t workers : WorkerCounts(cores)) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                              Measure(photographs, loops, workers, extents));
    result.comparisons.push_back(
        {.name = absl::StrCat("a daemon with ", workers, workers == 1 ? " worker" : " workers"),
         .against = absl::StrCat(
             workers, workers == 1 ? " process that only decodes" : " processes that only decode"),
         .unit = "images/s",
         .figure = medians[0],
         .reference = medians[1],
         .goal_ratio = workers < cores ? kGoalOfBare : 0});
  }
  const ShardRuns shards = {
      .workers = std::max(1u, cores - 1), .samples = extents.samples, .rounds = extents.rounds};
  PENSTOCK_RETURN_IF_ERROR(FeedShared(photographs, arguments.extent, result));
  PENSTOCK_RETURN_IF_ERROR(FeedKept(photographs, arguments.extent, result));
  PENSTOCK_RETURN_IF_ERROR(FeedShards(photographs, shards, result));
  PENSTOCK_RETURN_IF_ERROR(FeedRows(arguments.extent, result));
  return result;
}

}  // namespace penstock::bench
