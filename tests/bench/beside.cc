// beside: a program that computes on all cores, while a daemon with as many workers feeds a trainer
// that never has enough; compared with the same program alone.
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "common/posix/machine.h"
#include "tests/bench/daemon.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"
#include "tests/bench/trainer.h"

namespace penstock::bench {
namespace {

constexpr double kGoal = 0.97;
constexpr uint32_t kBatch = 32;

struct Extents {
  int rounds;
  std::chrono::milliseconds run;
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{7, std::chrono::seconds(3)}
                                 : Extents{3, std::chrono::milliseconds(300)};
}

// Steps that a thread makes until then.
uint64_t Compute(std::chrono::steady_clock::time_point until) {
  constexpr uint64_t kStepsApart = 4096;
  uint64_t value = 1, steps = 0;
  for (; std::chrono::steady_clock::now() < until; steps += kStepsApart)
    for (uint64_t i = 0; i < kStepsApart; ++i)
      value = value * 6364136223846793005u + 1442695040888963407u;
  return value == 0 ? 0 : steps;  // so that the steps are not optimised away
}

// Steps per second of one thread on each core.
double ComputeEverywhere(uint32_t cores, std::chrono::milliseconds time) {
  std::vector<uint64_t> steps(cores);
  const auto until = std::chrono::steady_clock::now() + time;
  {
    std::vector<std::jthread> threads;
    for (uint64_t& of_thread : steps) threads.emplace_back([&] { of_thread = Compute(until); });
  }
  const auto all = static_cast<double>(std::accumulate(steps.begin(), steps.end(), uint64_t{0}));
  return all / std::chrono::duration<double>(time).count();
}

// A trainer that takes batches as fast as they come, while it lives.
class Hungry {
 public:
  static absl::StatusOr<std::unique_ptr<Hungry>> Start(Client& client, uint64_t epoch) {
    SessionOptions options;
    options.dataset = Daemon::kDataset;
    options.batch_size = kBatch;
    options.state = State{.epoch = epoch, .seed = 1};
    PENSTOCK_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Open(client, options));
    PENSTOCK_RETURN_IF_ERROR(trainer.Take(8 * kBatch).status());  // until workers are busy
    return std::make_unique<Hungry>(std::move(trainer));
  }

  explicit Hungry(Trainer trainer)
      : trainer_(std::move(trainer)), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested() && taken_.ok()) {
            const auto more = trainer_.Take(1);
            taken_ = more.ok() ? *taken_ + *more : more;
          }
        }) {}

  // Ends it. **Errors**: those of its feed.
  absl::StatusOr<uint64_t> End() {
    thread_.request_stop();
    thread_.join();
    return taken_;
  }

 private:
  Trainer trainer_;
  absl::StatusOr<uint64_t> taken_ = 0;  // the thread's until it has ended
  std::jthread thread_;
};

}  // namespace

absl::StatusOr<Result> RunBeside(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  const uint32_t cores = posix::ReadMachine().Cores();
  const Extents extents = ExtentsOf(arguments.extent);
  PENSTOCK_ASSIGN_OR_RETURN(Daemon daemon, Daemon::Start(photographs, cores));
  const double seconds = std::chrono::duration<double>(extents.run).count();
  uint64_t epoch = 0;
  std::vector<double> fed;
  const auto beside = [&]() -> absl::StatusOr<double> {
    PENSTOCK_ASSIGN_OR_RETURN(const auto trainer, Hungry::Start(daemon.client(), epoch += 1000));
    const double steps = ComputeEverywhere(cores, extents.run);
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t samples, trainer->End());
    fed.push_back(static_cast<double>(samples) / seconds);
    return steps;
  };
  const auto alone = [&]() -> absl::StatusOr<double> {
    return ComputeEverywhere(cores, extents.run);
  };
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                            AlternatingMedians({beside, alone}, extents.rounds));

  Result result{.suite = "beside", .data = photographs.description(), .rounds = extents.rounds};
  result.comparisons.push_back(
      {.name = absl::StrCat(cores, " threads that compute, beside ", cores, " workers"),
       .against = "the same threads alone",
       .unit = "steps/s",
       .figure = medians[0],
       .reference = medians[1],
       .goal_ratio = kGoal});
  result.facts.push_back(
      {.name = "what the trainer got meanwhile", .value = Median(fed), .unit = "images/s"});
  return result;
}

}  // namespace penstock::bench
