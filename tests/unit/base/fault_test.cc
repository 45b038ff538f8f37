#include "common/base/fault.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::base {
namespace {

// Greater than the number of faults; numbers from the last fault up to here are not faults.
constexpr uint32_t kBeyondAll = 64;

TEST(FaultTest, NamesAreUniqueSoThatAListOfThemCanBeRead) {
  std::set<std::string> names;
  uint32_t faults = 0;
  for (uint32_t number = 0; number < kBeyondAll; ++number) {
    const auto facts = FactsOf(static_cast<Fault>(number));
    if (!facts) continue;
    ++faults;
    names.emplace(facts->name);
  }
  EXPECT_EQ(names.size(), faults);
  EXPECT_FALSE(names.contains("unknown"));
}

// Numbers are stored in files and sent to clients, so they must have no gaps and never be reused.
TEST(FaultTest, NumbersFollowEachOther) {
  uint32_t number = 0;
  while (FactsOf(static_cast<Fault>(number))) ++number;
  EXPECT_GE(number, 16u);
  for (; number < kBeyondAll; ++number) EXPECT_FALSE(FactsOf(static_cast<Fault>(number))) << number;
}

TEST(FaultTest, WhatAWorkerReportsIsTheSamplesAndCostsNoWorker) {
  for (uint32_t number = 1; number < kBeyondAll; ++number) {
    const auto facts = FactsOf(static_cast<Fault>(number));
    if (!facts || facts->finder != FaultFinder::kWorker) continue;
    EXPECT_NE(facts->follows, FaultFollows::kTriedOnceMore) << facts->name;
  }
  EXPECT_TRUE(IsWorkers(Fault::kTooManyScans));
  EXPECT_TRUE(IsWorkers(Fault::kMissing));
  EXPECT_FALSE(IsWorkers(Fault::kTimeout));
  EXPECT_FALSE(IsWorkers(Fault::kNotByGpu));
  EXPECT_FALSE(IsWorkers(static_cast<Fault>(kBeyondAll)));
}

}  // namespace
}  // namespace penstock::base
