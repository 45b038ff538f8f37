// feed: a whole daemon that feeds one trainer which does nothing, against as many processes that do
// nothing but decode the same samples.
#include <algorithm>
#include <set>

#include "common/posix/machine.h"
#include "tests/bench/bare_loops.h"
#include "tests/bench/daemon.h"
#include "tests/bench/interrupt.h"
#include "tests/bench/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfBare = 0.90;
constexpr uint64_t kSeed = 1;
constexpr uint32_t kBatch = 32;
constexpr uint32_t kWindow = 4;
constexpr uint64_t kLeadBatches = kWindow + 2;  // untimed: memory is touched, the workers are at it
constexpr uint64_t kEpochsApart = 1000;         // runs never meet a batch that is decoded already
constexpr std::chrono::milliseconds kSlice(200);
constexpr double kLongestSeconds = 60;

struct Extents {
  int rounds;
  uint64_t samples;  // a worker, a run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{9, 640} : Extents{3, 128};
}

absl::Status FromClient(const Status& status) {
  return absl::UnavailableError(absl::StrCat("the feed failed: ", status.message()));
}

// Takes batches and does nothing with them.
class Trainer {
 public:
  // A session from the beginning of `epoch` on.
  static absl::StatusOr<Trainer> Open(Client& client, uint64_t epoch) {
    SessionOptions options;
    options.dataset = Daemon::kDataset;
    options.batch_size = kBatch;
    options.order = Order::kSequential;
    options.flip_probability = 0.5;
    options.window = kWindow;
    options.delivery = Delivery::kHost;  // what decoding costs, not copying
    options.name = "penstock-bench";
    options.state = State{.epoch = epoch, .seed = kSeed};
    penstock::Result<Session> session = client.Open(options);
    if (!session.ok()) return FromClient(session.status());
    return Trainer(*std::move(session));
  }

  // At least `samples` more, up to a batch that it had to wait for: then it has all that is ready,
  // and a clock that is looked at now counts what was decoded, not what had piled up. Their number.
  absl::StatusOr<uint64_t> Take(uint64_t samples) {
    uint64_t taken = 0;
    for (bool waited = false; taken < samples || (!waited && taken < 2 * samples);) {
      penstock::Result<Batch> batch = session_.Next(std::chrono::milliseconds(0));
      waited = batch.status().code() == Code::kDeadlineExceeded;
      if (waited) batch = Wait();
      PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
      if (batch.ok()) {
        taken += batch->valid_rows();
      } else if (batch.status().code() != Code::kEndOfEpoch) {
        return FromClient(batch.status());
      }
    }
    return taken;
  }

 private:
  explicit Trainer(Session session) : session_(std::move(session)) {}

  penstock::Result<Batch> Wait() {
    const Stopwatch watch(Time::kWall);
    for (;;) {
      penstock::Result<Batch> batch = session_.Next(kSlice);
      const bool late = batch.status().code() == Code::kDeadlineExceeded;
      if (!late || watch.Seconds() > kLongestSeconds || !CheckInterrupted().ok()) return batch;
    }
  }

  Session session_;
};

// One session, some of it untimed: samples a second. `range` is what was timed.
absl::StatusOr<double> Feed(Client& client, uint64_t samples, BareLoops::Range& range) {
  PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(client, range.epoch));
  PENSTOCK_ASSIGN_OR_RETURN(range.first, trainer.Take(kLeadBatches * kBatch));
  const Stopwatch watch(Time::kWall);
  PENSTOCK_ASSIGN_OR_RETURN(range.count, trainer.Take(samples));
  return static_cast<double>(range.count) / watch.Seconds();
}

// Feeds with one number of workers, and as many bare loops over what was fed last, in turn.
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

// The numbers of workers to try on so many cores: one core is the daemon's and the trainer's. The
// last one, all cores, has no goal.
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
  return result;
}

}  // namespace penstock::bench
