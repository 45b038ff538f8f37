#include "tests/bench/feed/feed_shards.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/daemon.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/harness/scratch.h"
#include "tests/bench/trainer.h"
#include "tests/support/files/tar_maker.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfFolder = 0.95;
constexpr uint32_t kBatch = 32;
constexpr uint32_t kWindow = 4;
constexpr uint64_t kLeadBatches =
    kWindow + 2;                         // untimed, until memory is touched and workers are busy
constexpr uint64_t kEpochsApart = 1000;  // so that no run finds decoded batches of another
constexpr size_t kShards = 4;

absl::Status WriteShards(const Photographs& photographs, const std::string& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto files, photographs.Load(Photographs::kMost));
  for (size_t shard = 0; shard < kShards; ++shard) {
    std::ofstream file(absl::StrCat(folder, "/", shard, ".tar"), std::ios::binary);
    for (size_t i = shard * files.size() / kShards; i < (shard + 1) * files.size() / kShards; ++i) {
      const std::string image(reinterpret_cast<const char*>(files[i].data()), files[i].size());
      file << testing::TarFile(absl::StrCat(i, ".jpg"), image)
           << testing::TarFile(absl::StrCat(i, ".cls"),
                               absl::StrCat(photographs.dataset().label(i)));
    }
    if (!(file << testing::TarEnd()).flush())
      return absl::DataLossError(
          absl::StrCat(folder, ": a shard could not be written; is the disk full?"));
  }
  return absl::OkStatus();
}

// Opens one session in shuffled order, leaves its beginning untimed, and returns samples per
// second.
absl::StatusOr<double> Feed(Client& client, uint64_t samples, uint64_t epoch) {
  SessionOptions options;
  options.dataset = Daemon::kDataset;
  options.batch_size = kBatch;
  options.flip_probability = 0.5;
  options.window = kWindow;
  options.state = State{.epoch = epoch, .seed = 1};
  PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(client, options));
  PENSTOCK_RETURN_IF_ERROR(trainer.Take(kLeadBatches * kBatch).status());
  const Stopwatch watch(Time::kWall);
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t taken, trainer.Take(samples));
  return static_cast<double>(taken) / watch.Seconds();
}

}  // namespace

absl::Status FeedShards(const Photographs& photographs, const ShardRuns& runs, Result& result) {
  PENSTOCK_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  PENSTOCK_RETURN_IF_ERROR(WriteShards(photographs, folder.path()));
  PENSTOCK_ASSIGN_OR_RETURN(Daemon from_folder, Daemon::Start(photographs, runs.workers));
  PENSTOCK_ASSIGN_OR_RETURN(
      Daemon from_shards,
      Daemon::Start({.kind = absl::StrCat("tar: {shards: ['", folder.path(), "']}"),
                     .roots = {folder.path()},
                     .workers = runs.workers}));
  uint64_t epoch = 0;
  const auto feed = [&](Daemon& daemon) {
    return [&] {
      epoch += kEpochsApart;
      return Feed(daemon.client(), runs.workers * runs.samples, epoch);
    };
  };
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::vector<double> medians,
      AlternatingMedians({feed(from_shards), feed(from_folder)}, runs.rounds));
  const std::string workers =
      absl::StrCat(runs.workers, runs.workers == 1 ? " worker" : " workers");
  result.comparisons.push_back({.name = absl::StrCat("tar shards, a daemon with ", workers),
                                .against = "the same photographs in folders",
                                .unit = "images/s",
                                .figure = medians[0],
                                .reference = medians[1],
                                .goal_ratio = kGoalOfFolder});
  return absl::OkStatus();
}

}  // namespace penstock::bench
