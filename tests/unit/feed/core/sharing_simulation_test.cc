// Simulates trainers of different speeds on one feed: one decoder at 10 ms per batch, windows of
// four, and no slots beyond the windows. Compares them with lockstep, in which all trainers must
// stay within one window.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "server/feed/core/core.h"

namespace penstock::feed {
namespace {

constexpr int64_t kDecodeUs = 10'000;
constexpr int64_t kRunUs = 60'000'000;
constexpr uint32_t kWindow = 4;

// The duration of a trainer's steps, and an interval during which it stops.
struct Trainer {
  int64_t step_us = 20'000;
  int64_t stopped_from_us = kRunUs, stopped_until_us = kRunUs;
};

struct Outcome {
  std::vector<uint64_t> steps;  // per trainer
  uint64_t decoded = 0;
  double Shared() const {
    return static_cast<double>(std::accumulate(steps.begin(), steps.end(), uint64_t{0})) /
           static_cast<double>(decoded);
  }
};

// The end of trainer `who`'s n-th step, which begins at `start`. It has 10 % jitter, which is the
// same in every simulation.
int64_t EndOfStep(const Trainer& trainer, size_t who, uint64_t n, int64_t start) {
  std::mt19937_64 random(who * 1'000'003 + n);
  const double jitter = std::uniform_real_distribution<double>(0.9, 1.1)(random);
  if (start >= trainer.stopped_from_us && start < trainer.stopped_until_us) {
    start = trainer.stopped_until_us;
  }
  return start + static_cast<int64_t>(static_cast<double>(trainer.step_us) * jitter);
}

// Batch p is decoded once every trainer has released batch p − window.
Outcome Lockstep(const std::vector<Trainer>& trainers) {
  Outcome outcome{std::vector<uint64_t>(trainers.size())};
  std::vector<int64_t> end(trainers.size());
  std::vector<int64_t> released;
  int64_t ready = 0;
  for (uint64_t batch = 0; ready < kRunUs; ++batch) {
    ready = std::max(ready, batch < kWindow ? 0 : released[batch - kWindow]) + kDecodeUs;
    outcome.decoded += ready <= kRunUs;
    for (size_t i = 0; i < trainers.size(); ++i) {
      end[i] = EndOfStep(trainers[i], i, batch, std::max(end[i], ready));
      outcome.steps[i] += end[i] <= kRunUs;
    }
    released.push_back(*std::max_element(end.begin(), end.end()));
  }
  return outcome;
}

// The core with its trainers and decoder. Time advances to the next moment at which something ends.
class Simulation {
 public:
  explicit Simulation(const std::vector<Trainer>& trainers)
      : trainers_(trainers),
        busy_until_(trainers.size()),
        outcome_{.steps = std::vector<uint64_t>(trainers.size())} {
    for (uint32_t i = 0; i < trainers.size() * kWindow; ++i) {
      const SlotId slot{i};
      core_.AddSlots(ArenaId(1), std::span(&slot, 1));
    }
    SessionSpec spec;
    spec.arena = ArenaId(1);
    spec.share.samples = 1000;
    spec.window = kWindow;
    for (size_t i = 0; i < trainers.size(); ++i) {
      EXPECT_TRUE(core_.OpenSession(SessionId(i), spec, {}).ok());
    }
  }

  Outcome Run() {
    for (int64_t now = 0; now <= kRunUs; now = NextMoment()) {
      EndWhatEnds(now);
      BeginWhatCan(now);
    }
    outcome_.decoded = core_.View(FeedId())->batches_decoded;
    return outcome_;
  }

 private:
  void EndWhatEnds(int64_t now) {
    if (row_ && decoder_until_ == now) {
      core_.RowDone(*row_);
      row_.reset();
    }
    for (size_t i = 0; i < trainers_.size(); ++i) {
      if (!busy_until_[i] || *busy_until_[i] != now) continue;
      busy_until_[i].reset();
      EXPECT_TRUE(core_.Released(SessionId(i), ++outcome_.steps[i], {}).ok());
    }
  }

  void BeginWhatCan(int64_t now) {
    core_.TakeAnnouncements();
    for (size_t i = 0; i < trainers_.size(); ++i) {
      const SessionView view = *core_.View(SessionId(i));
      if (busy_until_[i] || view.announced == view.taken) continue;
      EXPECT_TRUE(core_.Taken(SessionId(i), view.taken + 1, {}).ok());
      busy_until_[i] = EndOfStep(trainers_[i], i, view.taken, now);
    }
    if (!row_ && (row_ = core_.NextRow())) decoder_until_ = now + kDecodeUs;
  }

  int64_t NextMoment() const {
    int64_t next = row_ ? decoder_until_ : INT64_MAX;
    for (const std::optional<int64_t>& until : busy_until_)
      next = std::min(next, until.value_or(next));
    return next;
  }

  const std::vector<Trainer> trainers_;
  Core core_;
  std::vector<std::optional<int64_t>> busy_until_;
  std::optional<RowTask> row_;
  int64_t decoder_until_ = 0;
  Outcome outcome_;
};

std::vector<Trainer> OfSteps(std::initializer_list<double> milliseconds) {
  std::vector<Trainer> trainers;
  for (double step_ms : milliseconds) {
    trainers.push_back({.step_us = static_cast<int64_t>(step_ms * 1000)});
  }
  return trainers;
}

// No trainer may lose more than `tolerated` of its steps. A difference of one window is allowed,
// because the clock stops at an arbitrary moment.
void ExpectNobodySlowerThanInLockstep(const std::vector<Trainer>& trainers,
                                      double tolerated = 0.002) {
  const Outcome ours = Simulation(trainers).Run(), lockstep = Lockstep(trainers);
  for (size_t i = 0; i < trainers.size(); ++i) {
    const auto steps = static_cast<double>(lockstep.steps[i]);
    EXPECT_GE(static_cast<double>(ours.steps[i]), steps * (1 - tolerated) - kWindow)
        << "trainer " << i;
  }
}

TEST(SharingSimulationTest, TrainersOfOneSpeedHaveEachBatchDecodedOnceForAllOfThem) {
  const std::vector<Trainer> trainers(8);

  EXPECT_GE(Simulation(trainers).Run().Shared(), 7.9);
  ExpectNobodySlowerThanInLockstep(trainers);
}

TEST(SharingSimulationTest, OfSlightlyDifferentSpeedsNobodyIsSlowerThanInLockstep) {
  ExpectNobodySlowerThanInLockstep(OfSteps({20, 20.3, 20.6, 20.9, 21.1, 21.4, 21.7, 22}));
}

TEST(SharingSimulationTest, OfVeryDifferentSpeedsNobodyIsSlowerThanInLockstep) {
  ExpectNobodySlowerThanInLockstep(OfSteps({20, 22.9, 25.7, 28.6, 31.4, 34.3, 37.1, 40}));
  ExpectNobodySlowerThanInLockstep(OfSteps({5, 5, 5, 5, 10, 10, 20, 40}));
}

TEST(SharingSimulationTest, TheFastGainFromNotWaitingForTheSlow) {
  const std::vector<Trainer> trainers = OfSteps({5, 5, 5, 5, 10, 10, 20, 40});

  const Outcome ours = Simulation(trainers).Run(), lockstep = Lockstep(trainers);

  EXPECT_GT(ours.steps[0], lockstep.steps[0] * 3 / 2);
}

TEST(SharingSimulationTest, WhereAllWaitForTheDecoderAllShareItsBatches) {
  for (const std::vector<Trainer>& trainers :
       {OfSteps({5, 5, 5, 5, 5, 5, 5, 5}), OfSteps({1, 2, 3, 4, 5, 6, 7, 8})}) {
    EXPECT_GE(Simulation(trainers).Run().Shared(), 7.9);
    ExpectNobodySlowerThanInLockstep(trainers);
  }
}

// The worst case for sharing: the decoder is hardly faster than the slowest trainer, and the others
// are faster than the decoder.
TEST(SharingSimulationTest, WhereTheDecoderIsHardlyFasterThanTheSlowestLittleIsLost) {
  ExpectNobodySlowerThanInLockstep(OfSteps({5, 5, 5, 5, 5, 5, 5, 11}), 0.06);
}

TEST(SharingSimulationTest, AStoppedTrainerHoldsUpNobody) {
  const std::vector<Trainer> all_run(8);
  std::vector<Trainer> one_stopped = all_run;
  one_stopped[3].stopped_from_us = 20'000'000;
  one_stopped[3].stopped_until_us = 40'000'000;

  const Outcome with = Simulation(one_stopped).Run(), without = Simulation(all_run).Run();

  for (size_t i = 0; i < all_run.size(); ++i) {
    const double share = i == 3 ? 2.0 / 3 : 1;
    EXPECT_GE(static_cast<double>(with.steps[i]),
              0.998 * share * static_cast<double>(without.steps[i]));
  }
}

}  // namespace
}  // namespace penstock::feed
