#include "common/posix/machine.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/files/temp_folder.h"

namespace penstock::posix {
namespace {

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() { Write("/proc/meminfo", "MemTotal: 2048 kB\nMemAvailable:    1000 kB\n"); }

  void Write(const std::string& path, const std::string& text) const {
    folder_.Write(path.substr(1), text);
  }

  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(MachineTest, WithoutCgroupsTheKernelsWordCounts) {
  const Machine machine = ReadMachine(root_);

  EXPECT_GE(machine.Cores(), 1u);
  EXPECT_FALSE(machine.quota_cores.has_value());
  EXPECT_EQ(machine.Memory(), 1000u * 1024);
}

TEST_F(MachineTest, NoQuotaAndNoLimitAreNone) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/memory.max", "max\n");

  const Machine machine = ReadMachine(root_);

  EXPECT_FALSE(machine.quota_cores.has_value());
  EXPECT_FALSE(machine.cgroup_bytes.has_value());
}

TEST_F(MachineTest, WhatIsNoQuotaAndNoLimitIsNone) {
  Write("/proc/self/cgroup", "0::/\n");
  for (const char* quota :
       {"", "max", "100000", "0 100000", "100000 0", "-1 100000", "a b", "1 2 3"}) {
    Write("/sys/fs/cgroup/cpu.max", quota);
    EXPECT_FALSE(ReadMachine(root_).quota_cores.has_value()) << quota;
  }
  for (const char* limit : {"", "-1", "1.5", "lots", "18446744073709551616"}) {
    Write("/sys/fs/cgroup/memory.max", limit);
    EXPECT_FALSE(ReadMachine(root_).cgroup_bytes.has_value()) << limit;
  }
}

TEST_F(MachineTest, MemoryIsFoundByItsWholeKeyAndIsNoneWhereItIsNoNumber) {
  for (const char* text : {"", "XMemAvailable: 7 kB\n", "MemAvailable:\n", "MemAvailable: x kB\n",
                           "MemAvailable: 18446744073709551615 kB\n"}) {
    Write("/proc/meminfo", text);
    EXPECT_EQ(ReadMachine(root_).Memory(), 0u) << text;
  }
}

TEST_F(MachineTest, OnlyTheUnifiedHierarchysPathCounts) {
  Write("/proc/self/cgroup", "5:memory:/a\n1:cpu:/a\n");
  Write("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  Write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_FALSE(ReadMachine(root_).quota_cores.has_value());

  Write("/proc/self/cgroup", "5:memory:/b\n0::/a\n");
  EXPECT_EQ(ReadMachine(root_).quota_cores, 1.0);
}

TEST_F(MachineTest, AQuotaNeverGivesMoreThanAffinityNorALimitMoreThanTheMachine) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "99999900000 100000\n");
  Write("/sys/fs/cgroup/memory.max", "966367641600\n");

  const Machine machine = ReadMachine(root_);

  EXPECT_EQ(machine.Cores(), machine.affinity_cores);
  EXPECT_EQ(machine.Memory(), 1000u * 1024);
}

TEST_F(MachineTest, ThisMachineHasACoreAndMemory) {
  EXPECT_GE(ReadMachine().Cores(), 1u);
  EXPECT_GT(ReadMachine().Memory(), 0u);
}

TEST_F(MachineTest, TheTightestOfTheCgroupsOnTheWayToTheRootCounts) {
  Write("/proc/self/cgroup", "0::/pods/trainer\n");
  Write("/sys/fs/cgroup/pods/cpu.max", "150000 100000\n");
  Write("/sys/fs/cgroup/pods/trainer/cpu.max", "400000 100000\n");
  Write("/sys/fs/cgroup/pods/memory.max", "900000\n");
  Write("/sys/fs/cgroup/pods/memory.current", "100000\n");
  Write("/sys/fs/cgroup/pods/trainer/memory.max", "500000\n");
  Write("/sys/fs/cgroup/pods/trainer/memory.current", "300000\n");
  Write("/sys/fs/cgroup/pods/trainer/memory.stat",
        "anon 5\ninactive_file 120000\nactive_file 80000\n");

  const Machine machine = ReadMachine(root_);

  EXPECT_DOUBLE_EQ(*machine.quota_cores, 1.5);
  EXPECT_EQ(machine.Cores(), 1u);
  EXPECT_EQ(machine.Memory(), 400'000u);  // page cache counts as free
}

TEST_F(MachineTest, CgroupsOfTheFirstVersionAreRead) {
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");

  const Machine machine = ReadMachine(root_);

  EXPECT_DOUBLE_EQ(*machine.quota_cores, 0.5);
  EXPECT_EQ(machine.Cores(), 1u);  // at least one
  EXPECT_FALSE(machine.cgroup_bytes.has_value());
}

TEST_F(MachineTest, TheFirstVersionsPathIsFollowedWhereItIsMounted) {
  Write("/proc/self/cgroup", "4:memory:/pods/a\n1:cpu,cpuacct:/pods\n0::/\n");
  Write("/sys/fs/cgroup/cpu/pods/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu/pods/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/pods/memory.limit_in_bytes", "600000\n");
  Write("/sys/fs/cgroup/memory/pods/memory.usage_in_bytes", "150000\n");
  Write("/sys/fs/cgroup/memory/pods/memory.stat",
        "inactive_file 1\nactive_file 1\ntotal_inactive_file 20000\ntotal_active_file 30000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");

  const Machine machine = ReadMachine(root_);

  EXPECT_DOUBLE_EQ(*machine.quota_cores, 3.0);
  EXPECT_EQ(machine.cgroups, Cgroups::kV1);
  EXPECT_EQ(machine.tightest->limit_bytes, 600'000u);
  EXPECT_EQ(machine.tightest->charged_bytes, 100'000u);
  EXPECT_EQ(machine.Memory(), 500'000u);
}

TEST_F(MachineTest, LinesThatAreNoCgroupsAreLeftOut) {
  for (const char* text : {"", "0:/a\n", "memory\n", "0::a\n", ":::\n", "4:memory:\n"}) {
    Write("/proc/self/cgroup", text);
    EXPECT_EQ(ReadMachine(root_).cgroups, Cgroups::kNone) << text;
  }
}

TEST_F(MachineTest, AnotherProcessHasItsOwn) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/proc/1/cgroup", "0::/init\n");
  Write("/sys/fs/cgroup/init/memory.max", "1000\n");

  EXPECT_FALSE(ReadMachine(root_).tightest.has_value());
  EXPECT_EQ(ReadMachine(root_, 1).tightest->limit_bytes, 1000u);
}

TEST_F(MachineTest, WhereTheKernelSlowsAProcessDownIsALimitToo) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "900000\n");
  Write("/sys/fs/cgroup/memory.current", "100000\n");
  Write("/sys/fs/cgroup/memory.high", "max\n");
  EXPECT_EQ(ReadMachine(root_).Memory(), 800'000u);

  Write("/sys/fs/cgroup/memory.high", "600000\n");
  EXPECT_EQ(ReadMachine(root_).Memory(), 500'000u);
  EXPECT_EQ(ReadMachine(root_).tightest->limit_bytes, 600'000u);
}

TEST_F(MachineTest, AnOverspentLimitLeavesNothing) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "1000\n");
  Write("/sys/fs/cgroup/memory.current", "5000\n");

  EXPECT_EQ(ReadMachine(root_).Memory(), 0u);
}

}  // namespace
}  // namespace penstock::posix
