// Runs with faults at random; README.md says what must hold. A failure prints its seed and the last
// events. PENSTOCK_SIMULATION_SEED=N repeats a run.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/telemetry/log.h"
#include "tests/simulation/world.h"

namespace penstock::simulation {
namespace {

std::optional<uint64_t> FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt
                          : std::optional<uint64_t>(std::strtoull(value, nullptr, 10));
}

const World* running = nullptr;
uint64_t running_seed = 0;

void Report(const char* what) {
  std::fprintf(stderr, "seed=%ju event %ju, %.3f s: %s\nthe last events:\n%s",
               static_cast<uintmax_t>(running_seed), static_cast<uintmax_t>(running->events()),
               static_cast<double>(running->stage().now().time_since_epoch().count()) / 1e9, what,
               running->stage().history.Text().c_str());
}

// PENSTOCK_CHECK aborts; the seed is needed then, too.
void OnAbort(int) {
  if (running != nullptr) Report("a check of the daemon failed");
  ::signal(SIGABRT, SIG_DFL);
  ::raise(SIGABRT);
}

// Returns the digest of what happened; nullopt if an invariant does not hold.
std::optional<uint64_t> Simulate(const Plan& plan, bool print = false) {
  telemetry::SetLevel(telemetry::Level::kError);
  ::signal(SIGABRT, OnAbort);
  const auto began = std::chrono::steady_clock::now();
  // First, so that also a run that hangs or crashes can be repeated.
  std::printf("seed=%ju, %ju samples, %ju faults\n", static_cast<uintmax_t>(plan.seed),
              static_cast<uintmax_t>(plan.samples), static_cast<uintmax_t>(plan.faults));
  std::fflush(stdout);
  World world(plan);
  running = &world;
  running_seed = plan.seed;
  std::optional<uint64_t> digest;
  try {
    world.Run();
    digest = world.stage().history.digest();
  } catch (const Violation& violation) {
    Report(violation.what());
    ADD_FAILURE() << "seed=" << plan.seed << ": " << violation.what()
                  << "\nPENSTOCK_SIMULATION_SEED=" << plan.seed << " repeats this run";
  }
  running = nullptr;
  if (!print) return digest;
  const Trainers& trainers = world.trainers();
  std::printf(
      "seed=%ju: %ju samples in %ju batches (%ju made, %ju raised), %ju replaced; %ju jobs; %ju "
      "sessions; %ju "
      "events, %ju faults, %ju restarts; %.0f s simulated in %.1f s\n",
      static_cast<uintmax_t>(plan.seed), static_cast<uintmax_t>(trainers.samples()),
      static_cast<uintmax_t>(trainers.batches()), static_cast<uintmax_t>(trainers.made()),
      static_cast<uintmax_t>(trainers.raised()), static_cast<uintmax_t>(trainers.replaced()),
      static_cast<uintmax_t>(trainers.jobs_done()), static_cast<uintmax_t>(trainers.resumes()),
      static_cast<uintmax_t>(world.events()), static_cast<uintmax_t>(world.faults()),
      static_cast<uintmax_t>(world.restarts()),
      static_cast<double>(world.stage().now().time_since_epoch().count()) / 1e9,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  for (size_t i = 0; i < kFaultKinds; ++i)
    std::printf("  %ju × %s\n", static_cast<uintmax_t>(world.faults_by_kind()[i]),
                NameOf(static_cast<Fault>(i)));
  return digest;
}

Plan WithEnvironment(Plan plan) {
  plan.seed = FromEnvironment("PENSTOCK_SIMULATION_SEED").value_or(plan.seed);
  plan.samples = FromEnvironment("PENSTOCK_SIMULATION_SAMPLES").value_or(plan.samples);
  plan.faults = FromEnvironment("PENSTOCK_SIMULATION_FAULTS").value_or(plan.faults);
  plan.pool_bytes = FromEnvironment("PENSTOCK_SIMULATION_POOL").value_or(plan.pool_bytes);
  return plan;
}

class SimulationTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SimulationTest, WhateverFailsEachSampleComesOnceAndAsPlanned) {
  const Plan plan = WithEnvironment({.seed = GetParam(), .samples = 60'000, .faults = 40});
  EXPECT_TRUE(Simulate(plan, true).has_value());
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest, ::testing::Values(1, 2));

class PythonSimulationTest : public ::testing::TestWithParam<uint64_t> {};

// Python datasets alone, in a pool that cannot give every batch the room that it needs.
TEST_P(PythonSimulationTest, WhateverFailsEachBatchComesOnceAndWhole) {
  const Plan plan = WithEnvironment({.seed = GetParam(),
                                     .samples = 100'000,
                                     .faults = 200,
                                     .jobs = 3,
                                     .datasets = 0,
                                     .pool_bytes = 2 << 20});
  EXPECT_TRUE(Simulate(plan, true).has_value());
}

INSTANTIATE_TEST_SUITE_P(Seeds, PythonSimulationTest, ::testing::Values(1, 3, 8));

class FullPoolSimulationTest : public ::testing::TestWithParam<uint64_t> {};

// So small a pool that jobs fail for want of memory for any batch.
TEST_P(FullPoolSimulationTest, AJobThatIsToldSoLetsTheOthersGoOn) {
  const Plan plan = WithEnvironment({.seed = GetParam(),
                                     .samples = 50'000,
                                     .faults = 50,
                                     .jobs = 3,
                                     .datasets = 0,
                                     .pool_bytes = 5 << 18});
  EXPECT_TRUE(Simulate(plan, true).has_value());
}

INSTANTIATE_TEST_SUITE_P(Seeds, FullPoolSimulationTest, ::testing::Values(1, 2, 5));

// Ten million samples and a thousand faults: minutes.
TEST(LongSimulationTest, TenMillionSamplesAndAThousandFaults) {
  const Plan plan = WithEnvironment({.seed = 20261123, .samples = 10'000'000, .faults = 1000});
  EXPECT_TRUE(Simulate(plan, true).has_value());
}

TEST(RepeatedSimulationTest, ASeedRepeatsItsRun) {
  const Plan plan{.seed = 77, .samples = 5'000, .faults = 20};
  EXPECT_EQ(Simulate(plan), Simulate(plan));
}

TEST(RepeatedSimulationTest, WithoutFaultsNothingIsReplaced) {
  const Plan plan{.seed = 78, .samples = 20'000, .faults = 0};
  World world(plan);
  EXPECT_NO_THROW(world.Run());
  EXPECT_EQ(world.trainers().replaced(), 0u);
  EXPECT_EQ(world.restarts(), 0u);
}

TEST(FairnessSimulationTest, UsersWhoWantMoreThanThereIsShareTheWorkersTime) {
  for (const uint32_t workers : {1u, 2u, 4u, 7u}) {
    const Plan plan{
        .seed = 79, .samples = 5'000, .faults = 0, .jobs = 6, .greedy = true, .workers = workers};
    EXPECT_TRUE(Simulate(plan).has_value()) << workers << " workers";
  }
}

}  // namespace
}  // namespace penstock::simulation
