#include "server/app/machine.h"

#include <gtest/gtest.h>

#include "common/base/units.h"

namespace penstock::app {
namespace {

using base::kGiB;

constexpr char kMeminfo[] =
    "MemTotal:       24652780 kB\nMemFree:        23868884 kB\nMemAvailable:   20971520 kB\n";

TEST(MachineTest, WhatIsNoQuotaIsNone) {
  for (const char* text :
       {"", "max 100000\n", "max", "100000", "0 100000", "100000 0", "-1 100000", "a b", "1 2 3"})
    EXPECT_EQ(ParseCpuMax(text), std::nullopt) << text;
}

TEST(MachineTest, AQuotaIsRunTimeOverPeriod) {
  EXPECT_EQ(ParseCpuMax("200000 100000\n"), 2.0);
  EXPECT_EQ(ParseCpuMax("150000 100000"), 1.5);
  EXPECT_EQ(ParseCpuMax("5000 100000\n"), 0.05);
}

TEST(MachineTest, WhatIsNoMemoryLimitIsNone) {
  for (const char* text : {"", "max\n", "-1", "1.5", "lots", "18446744073709551616"})
    EXPECT_EQ(ParseMemoryLimit(text), std::nullopt) << text;
  EXPECT_EQ(ParseMemoryLimit("1073741824\n"), kGiB);
  EXPECT_EQ(ParseMemoryLimit("0"), 0u);
}

TEST(MachineTest, KeyedNumbersAreFoundByTheirWholeKey) {
  EXPECT_EQ(ParseKeyedNumber("", "a"), std::nullopt);
  EXPECT_EQ(ParseKeyedNumber("ab 1\n", "a"), std::nullopt);
  EXPECT_EQ(ParseKeyedNumber("a\n", "a"), std::nullopt);
  EXPECT_EQ(ParseKeyedNumber("a x\n", "a"), std::nullopt);
  EXPECT_EQ(ParseKeyedNumber("a: 18446744073709551615 kB\n", "a"), std::nullopt);
  EXPECT_EQ(ParseKeyedNumber("active_file 5\ninactive_file 7\n", "inactive_file"), 7u);
  EXPECT_EQ(ParseKeyedNumber(kMeminfo, "MemAvailable"), 20 * kGiB);
}

TEST(MachineTest, OnlyTheUnifiedHierarchyCounts) {
  EXPECT_EQ(ParseCgroupPath(""), std::nullopt);
  EXPECT_EQ(ParseCgroupPath("5:memory:/a\n1:cpu:/\n"), std::nullopt);
  EXPECT_EQ(ParseCgroupPath("0::\n"), std::nullopt);
  EXPECT_EQ(ParseCgroupPath("5:memory:/a\n0::/kubepods/pod1\n"), "/kubepods/pod1");
  EXPECT_EQ(ParseCgroupPath("0::/\n"), "/");
}

TEST(MachineTest, WithoutCgroupsItIsAffinityAndMemAvailable) {
  const Machine machine = MachineFrom(16, kMeminfo, {});

  EXPECT_EQ(machine.cores, 16u);
  EXPECT_EQ(machine.available_bytes, 20 * kGiB);
}

TEST(MachineTest, ThereIsAlwaysOneCore) {
  EXPECT_EQ(MachineFrom(0, kMeminfo, {}).cores, 1u);
  EXPECT_EQ(MachineFrom(8, kMeminfo, {{"50000 100000", "", "", ""}}).cores, 1u);
}

TEST(MachineTest, TheSmallestQuotaOnTheWayToTheRootCounts) {
  EXPECT_EQ(MachineFrom(16, kMeminfo,
                        {{"800000 100000", "", "", ""},
                         {"350000 100000", "", "", ""},
                         {"max 100000", "", "", ""}})
                .cores,
            3u);
  EXPECT_EQ(MachineFrom(2, kMeminfo, {{"800000 100000", "", "", ""}}).cores, 2u);
}

TEST(MachineTest, ACgroupLeavesItsLimitLessWhatIsInUseWithoutIdleCache) {
  const std::string limit = std::to_string(8 * kGiB), current = std::to_string(6 * kGiB);
  const std::string stat = "anon 1\ninactive_file " + std::to_string(4 * kGiB) + "\n";

  EXPECT_EQ(MachineFrom(1, kMeminfo, {{"", limit, current, ""}}).available_bytes, 2 * kGiB);
  EXPECT_EQ(MachineFrom(1, kMeminfo, {{"", limit, current, stat}}).available_bytes, 6 * kGiB);
}

TEST(MachineTest, ACgroupAboveItsLimitLeavesNothing) {
  EXPECT_EQ(MachineFrom(1, kMeminfo, {{"", "1000", "2000", ""}}).available_bytes, 0u);
}

TEST(MachineTest, ALimitBeyondTheMachineIsNone) {
  EXPECT_EQ(MachineFrom(1, kMeminfo, {{"", std::to_string(900 * kGiB), "0", ""}}).available_bytes,
            20 * kGiB);
}

TEST(MachineTest, ThisMachineHasACoreAndMemory) {
  const Machine machine = ReadMachine();

  EXPECT_GE(machine.cores, 1u);
  EXPECT_GT(machine.available_bytes, 0u);
}

}  // namespace
}  // namespace penstock::app
