#include "client/ctl/check/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::ctl {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class TreeTest : public ::testing::Test {
 protected:
  void WriteGpu(const std::string& address, const std::string& node) {
    const std::string folder = "sys/bus/pci/devices/" + address;
    tree_.Write(folder + "/vendor", "0x10de\n");
    tree_.Write(folder + "/class", "0x030200\n");
    tree_.Write(folder + "/numa_node", node + "\n");
  }

  testing::TempFolder tree_;
};

TEST_F(TreeTest, AnEmptyTreeSaysNothing) {
  const SystemFacts system = ReadSystem(tree_.path());
  const ProcessFacts process = ReadProcess(4711, tree_.path());

  EXPECT_EQ(system.shmem_huge, "");
  EXPECT_EQ(system.memory_bytes, 0u);
  EXPECT_EQ(system.driver, "");
  EXPECT_THAT(system.gpus, IsEmpty());
  EXPECT_THAT(system.nodes, IsEmpty());
  EXPECT_FALSE(process.identity.has_value());
  EXPECT_FALSE(process.files.has_value());
  EXPECT_FALSE(process.whole_user_map.has_value());
  EXPECT_THAT(process.namespaces, IsEmpty());
  EXPECT_THAT(process.mounts, IsEmpty());
}

TEST_F(TreeTest, FilesThatHoldSomethingElseSayNothing) {
  const std::string noise(10'000, '\xff');
  for (const char* path :
       {"proc/7/status", "proc/7/limits", "proc/7/uid_map", "proc/7/mountinfo", "proc/7/cgroup",
        "proc/meminfo", "proc/driver/nvidia/version", "sys/devices/system/node/node0/cpulist",
        "sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "sys/devices/system/node/nodes/cpulist"})
    tree_.Write(path, noise);
  tree_.Write("sys/bus/pci/devices/0000:00:00.0/vendor", noise);

  const SystemFacts system = ReadSystem(tree_.path());
  const ProcessFacts process = ReadProcess(7, tree_.path());

  EXPECT_EQ(system.shmem_huge, "");
  EXPECT_THAT(system.gpus, IsEmpty());
  ASSERT_THAT(system.nodes, SizeIs(1));
  EXPECT_THAT(system.nodes[0].cores, IsEmpty());
  EXPECT_FALSE(process.identity || process.files || process.memlock || process.file_size);
  EXPECT_EQ(process.whole_user_map, false);
  EXPECT_THAT(process.cores, IsEmpty());
}

TEST_F(TreeTest, OfDevicesNvidiasDisplayControllersCountWithTheirNode) {
  WriteGpu("0000:3b:00.0", "1");
  WriteGpu("0000:86:00.0", "-1");
  tree_.Write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  tree_.Write("sys/bus/pci/devices/0000:01:00.0/class", "0x040300\n");  // a GPU's audio device
  tree_.Write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x1a03\n");
  tree_.Write("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");  // a server's display

  const SystemFacts system = ReadSystem(tree_.path());

  ASSERT_THAT(system.gpus, SizeIs(2));
  EXPECT_EQ(system.gpus[0].address, "0000:3b:00.0");
  EXPECT_EQ(system.gpus[0].node, 1);
  EXPECT_FALSE(system.gpus[1].node.has_value());
}

TEST_F(TreeTest, NodesComeInTheirOrderWithTheirCores) {
  for (const char* node : {"10", "2", "0"})
    tree_.Write(std::string("sys/devices/system/node/node") + node + "/cpulist", "0-3,8\n");
  tree_.Write("sys/devices/system/node/has_cpu", "0,2,10\n");

  const SystemFacts system = ReadSystem(tree_.path());

  ASSERT_THAT(system.nodes, SizeIs(3));
  EXPECT_EQ(system.nodes[1].id, 2u);
  EXPECT_EQ(system.nodes[2].id, 10u);
  EXPECT_EQ(CountOf(system.nodes[0].cores), 5u);
}

TEST_F(TreeTest, HugePagesAreWhatIsReservedAndFree) {
  tree_.Write(
      "proc/meminfo",
      "MemTotal: 1000000 kB\nHugePages_Total: 9\nHugePages_Free: 4\nHugepagesize: 2048 kB\n");
  tree_.Write("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always [within_size] never\n");

  const SystemFacts system = ReadSystem(tree_.path());

  EXPECT_EQ(system.huge_free_bytes, 8u << 20);
  EXPECT_EQ(system.shmem_huge, "within_size");
}

TEST_F(TreeTest, AProcessIsReadWhole) {
  tree_.Write("proc/meminfo", "MemAvailable: 1000 kB\n");
  tree_.Write("proc/7/status", "Uid:\t5\t5\t5\t5\nGid:\t6\t6\t6\t6\nCpus_allowed_list:\t2-3\n");
  tree_.Write("proc/7/limits", "Max locked memory   65536   65536   bytes\n");
  tree_.Write("proc/7/uid_map", "0 0 4294967295\n");
  tree_.Write("proc/7/cgroup", "0::/unit\n");
  tree_.Write("sys/fs/cgroup/unit/memory.max", "900000\n");
  tree_.Write("sys/fs/cgroup/unit/memory.current", "200000\n");
  tree_.Link("proc/7/ns/pid", "pid:[4026531836]");

  const ProcessFacts process = ReadProcess(7, tree_.path());

  EXPECT_EQ(process.identity->user, 5u);
  EXPECT_EQ(CountOf(process.cores), 2u);
  EXPECT_EQ(process.memlock->soft, 65536u);
  EXPECT_EQ(process.whole_user_map, true);
  EXPECT_EQ(process.namespaces.at("pid"), "pid:[4026531836]");
  EXPECT_EQ(process.machine.tightest->limit_bytes, 900000u);
  EXPECT_EQ(process.machine.tightest->charged_bytes, 200000u);
  EXPECT_EQ(process.machine.Memory(), 700000u);
}

TEST_F(TreeTest, ThisProcessAndItsMachineCanBeRead) {
  const ProcessFacts process = ReadProcess(0);

  EXPECT_TRUE(process.identity.has_value());
  EXPECT_TRUE(process.files.has_value());
  EXPECT_TRUE(process.memlock.has_value());
  EXPECT_GT(CountOf(process.cores), 0u);
  EXPECT_GE(process.namespaces.size(), 3u);
  EXPECT_NE(MountOf(process.mounts, "/"), nullptr);
  EXPECT_GT(ReadSystem().memory_bytes, 0u);
}

}  // namespace
}  // namespace penstock::ctl
