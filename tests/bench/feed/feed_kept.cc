#include "tests/bench/feed/feed_kept.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "common/base/units.h"
#include "common/posix/machine.h"
#include "tests/bench/daemon.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/harness/scratch.h"
#include "tests/bench/trainer.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfMemcpy = 0.80;
constexpr uint32_t kBatch = 64, kWindow = 4;
constexpr size_t kRowBytes = size_t{224} * 224 * 3;
constexpr uint64_t kEpochs = 1'000'000;  // as many as are needed

struct Extents {
  int rounds;
  uint64_t rows;  // in a run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, 20'000} : Extents{3, 2'000};
}

// The daemon's threads that copy kept rows: as many as it has row copiers.
uint32_t CountThreads() { return std::clamp(posix::ReadMachine().Cores() / 4, 1u, 8u); }

// Copies rows from as many kept ones to the slots of a window, each thread its own.
class RowLoops {
 public:
  explicit RowLoops(uint64_t kept)
      : kept_(kept * kRowBytes, std::byte{1}), slots_(kWindow * kBatch * kRowBytes) {}

  double RowsPerSecond(uint64_t rows) {
    const uint32_t count = CountThreads();
    const Stopwatch watch(Time::kWall);
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < count; ++thread)
      threads.emplace_back([=, this] {
        for (uint64_t row = thread; row < rows; row += count)
          std::memcpy(slots_.data() + row * kRowBytes % slots_.size(),
                      kept_.data() + row * kRowBytes % kept_.size(), kRowBytes);
      });
    for (std::thread& thread : threads) thread.join();
    return static_cast<double>(rows) / watch.Seconds();
  }

 private:
  std::vector<std::byte> kept_, slots_;
};

SessionOptions Validation() {
  SessionOptions options;
  options.dataset = Daemon::kDataset;
  options.batch_size = kBatch;
  options.order = Order::kSequential;
  options.center_crop = ResizeCenterCrop{.resize = 256, .height = 224, .width = 224};
  options.window = kWindow;
  options.epochs = kEpochs;
  return options;
}

// Where the rows are kept: the section `cache` of the configuration.
absl::StatusOr<std::vector<double>> Measure(const Photographs& photographs,
                                            const std::string& cache, const Extents& extents) {
  const uint64_t samples = photographs.dataset().samples();
  PENSTOCK_ASSIGN_OR_RETURN(Daemon daemon, Daemon::Start(photographs, posix::ReadMachine().Cores(),
                                                         Daemon::More{.cache = cache}));
  PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(daemon.client(), Validation()));
  PENSTOCK_RETURN_IF_ERROR(trainer.Take(2 * samples).status());  // decodes, and keeps
  RowLoops loops(samples);
  const auto feed = [&]() -> absl::StatusOr<double> {
    const Stopwatch watch(Time::kWall);
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t rows, trainer.Take(extents.rows));
    return static_cast<double>(rows) / watch.Seconds();
  };
  return AlternatingMedians(
      {feed, [&] { return absl::StatusOr<double>(loops.RowsPerSecond(extents.rows)); }},
      extents.rounds);
}

SessionOptions Crops() {
  SessionOptions options;
  options.dataset = Daemon::kDataset;
  options.batch_size = kBatch;
  options.order = Order::kSequential;
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};
  options.flip_probability = 0.5;
  options.window = kWindow;
  options.epochs = kEpochs;
  return options;
}

// A daemon whose trainer has taken two epochs of random crops.
struct CroppingDaemon {
  static absl::StatusOr<CroppingDaemon> Start(const Photographs& photographs,
                                              const std::string& cache) {
    PENSTOCK_ASSIGN_OR_RETURN(
        Daemon daemon,
        Daemon::Start(photographs, posix::ReadMachine().Cores(), Daemon::More{.cache = cache}));
    PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(daemon.client(), Crops()));
    PENSTOCK_RETURN_IF_ERROR(trainer.Take(2 * photographs.dataset().samples()).status());
    return CroppingDaemon{std::move(daemon), std::move(trainer)};
  }
  absl::StatusOr<double> RowsPerSecond(uint64_t rows) {
    const Stopwatch watch(Time::kWall);
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t taken, trainer.Take(rows));
    return static_cast<double>(taken) / watch.Seconds();
  }

  Daemon daemon;
  Trainer trainer;
};

// Random crops of kept images, compared with decoding the files again.
absl::Status FeedKeptImages(const Photographs& photographs, Extent extent, Result& result) {
  const Extents extents = ExtentsOf(extent);
  PENSTOCK_ASSIGN_OR_RETURN(CroppingDaemon keeping,
                            CroppingDaemon::Start(photographs, "decoded: 4GiB"));
  PENSTOCK_ASSIGN_OR_RETURN(CroppingDaemon decoding,
                            CroppingDaemon::Start(photographs, "decoded: 0B"));
  const uint64_t rows = extents.rows / 4;
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                            AlternatingMedians({[&] { return keeping.RowsPerSecond(rows); },
                                                [&] { return decoding.RowsPerSecond(rows); }},
                                               extents.rounds));
  result.comparisons.push_back({.name = "random crops, later epochs: of decoded images in memory",
                                .against = "the same crops, decoded from the files",
                                .unit = "images/s",
                                .figure = medians[0],
                                .reference = medians[1],
                                .goal_ratio = 0});
  return absl::OkStatus();
}

}  // namespace

absl::Status FeedKept(const Photographs& photographs, Extent extent, Result& result) {
  PENSTOCK_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  const std::string enough =
      absl::StrCat(photographs.dataset().samples() * kRowBytes / base::kMiB + 1, "MiB");
  struct Where {
    const char* name;
    std::string cache;
    double goal;
  };
  const Where kept[] = {
      {"memory", absl::StrCat("memory: ", enough), kGoalOfMemcpy},
      {"a folder", absl::StrCat("folder: '", folder.path(), "', folder_max: ", enough), 0}};
  for (const Where& where : kept) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                              Measure(photographs, where.cache, ExtentsOf(extent)));
    result.comparisons.push_back(
        {.name = absl::StrCat("validation, later epochs: rows that are kept in ", where.name),
         .against = "memcpy of as many rows by as many threads",
         .unit = "images/s",
         .figure = medians[0],
         .reference = medians[1],
         .goal_ratio = where.goal});
  }
  return FeedKeptImages(photographs, extent, result);
}

}  // namespace penstock::bench
