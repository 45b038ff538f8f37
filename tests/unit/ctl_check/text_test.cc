#include "client/ctl/check/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::ctl {
namespace {

using ::testing::ElementsAre;

TEST(TextTest, AStatusWithoutItsIdsIsNone) {
  for (const char* text :
       {"", "Uid:\n", "Uid:\t1\n", "Uid:\t1\t1\t1\t1\n", "Uid:\t1\tx\nGid:\t1\t1\n",
        "Uid:\t-1\t-1\nGid:\t1\t1\n", "Uid:\t99999999999\t99999999999\nGid:\t1\t1\n",
        "XUid:\t1\t1\nGid:\t1\t1\n", "Uid:\t1\t1\nGid:\t1\t1\nGroups:\t7 x\n"})
    EXPECT_FALSE(ParseIdentity(text).ok()) << text;
}

TEST(TextTest, TheEffectiveIdsCount) {
  const auto identity = ParseIdentity(
      "Name:\tpenstockd\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nVmPeak:\t1 kB\n");

  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->user, 2u);
  EXPECT_EQ(identity->group, 6u);
  EXPECT_THAT(identity->groups, ElementsAre(9u, 10u));
}

TEST(TextTest, ALimitThatIsNotThereOrNoNumberIsNone) {
  for (const char* text : {"", "Max open files", "Max open files  \n", "Max open files   1024\n",
                           "Max open files   x   y   files\n", "Max open filesystems   1   2\n"})
    EXPECT_FALSE(ParseLimit(text, "Max open files").ok()) << text;
}

TEST(TextTest, ALimitHasTwoBoundsOfWhichEachMayBeNone) {
  const std::string text =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max open files            1024                 1048576              files     \n"
      "Max locked memory         8388608              unlimited            bytes     \n";

  EXPECT_EQ(ParseLimit(text, "Max open files")->soft, 1024u);
  EXPECT_EQ(ParseLimit(text, "Max open files")->hard, 1048576u);
  EXPECT_EQ(ParseLimit(text, "Max locked memory")->hard, kUnlimited);
}

TEST(TextTest, AChoiceStandsInBrackets) {
  for (const char* text : {"", "always never", "[", "]", "[]", "]x[", "always ["})
    EXPECT_FALSE(ParseChoice(text).ok()) << text;

  EXPECT_EQ(*ParseChoice("always within_size advise [never] deny force\n"), "never");
}

TEST(TextTest, ListsOfNumbersAreRangesOrNone) {
  for (const char* text : {"x", "1-", "-1", "3-1", "1-2-3", "0,x", "99999999999"})
    EXPECT_FALSE(ParseIds(text).ok()) << text;

  EXPECT_EQ(CountOf(*ParseIds("")), 0u);
  EXPECT_EQ(CountOf(*ParseIds("0-3,8\n")), 5u);
  EXPECT_EQ(CountOf(*ParseIds("0-4294967295")), uint64_t{1} << 32);
  EXPECT_TRUE(Overlap(*ParseIds("0-3"), *ParseIds("7,3")));
  EXPECT_FALSE(Overlap(*ParseIds("0-3"), *ParseIds("4-7")));
  EXPECT_FALSE(Overlap({}, *ParseIds("4-7")));
}

TEST(TextTest, NumbersAreFoundByTheirWholeKeyAndDoNotOverflow) {
  for (const char* text : {"", "XMem: 1 kB\n", "Mem:\n", "Mem: x kB\n",
                           "Mem: 18446744073709551615 kB\n", "Mem: 18446744073709551616\n"})
    EXPECT_FALSE(KeyedNumber(text, "Mem").has_value()) << text;

  EXPECT_EQ(KeyedNumber("A: 1\nMem:   2 kB\n", "Mem"), 2048u);
  EXPECT_EQ(KeyedNumber("HugePages_Free:       7\n", "HugePages_Free"), 7u);
}

TEST(TextTest, LinesThatAreNoMountsAreLeftOut) {
  EXPECT_TRUE(ParseMounts("").empty());
  EXPECT_TRUE(ParseMounts("a b c\n- - - -\n1 2 3:4 / / rw -\n1 2 3:4 / - ext4 x\n").empty());
}

TEST(TextTest, APathLiesOnTheDeepestAndLatestMountAboveIt) {
  const std::vector<Mount> mounts = ParseMounts(
      "1 0 8:1 / / rw,relatime - ext4 /dev/sda rw\n"
      "2 1 0:5 / /data rw shared:7 master:1 - nfs4 server:/data rw\n"
      "3 1 0:6 / /with\\040blank rw - ceph x rw\n"
      "4 1 0:7 / /data/fast rw - tmpfs x rw\n"
      "5 4 0:8 / /data/fast rw - xfs x rw\n");

  EXPECT_EQ(MountOf(mounts, "/data/photos")->type, "nfs4");
  EXPECT_EQ(MountOf(mounts, "/data")->type, "nfs4");
  EXPECT_EQ(MountOf(mounts, "/database")->type, "ext4");
  EXPECT_EQ(MountOf(mounts, "/with blank/x")->type, "ceph");
  EXPECT_EQ(MountOf(mounts, "/data/fast/a")->type, "xfs");
  EXPECT_EQ(MountOf({}, "/data"), nullptr);
}

TEST(TextTest, OtherMachinesFileSystemsAreKnownByName) {
  for (const char* type : {"nfs", "nfs4", "cifs", "ceph", "lustre", "fuse.sshfs", "9p", "beegfs"})
    EXPECT_TRUE(IsRemote(type)) << type;
  for (const char* type : {"", "ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "fusectl"})
    EXPECT_FALSE(IsRemote(type)) << type;
}

TEST(TextTest, AUserMapIsWholeOnlyWhenItIsTheMachines) {
  EXPECT_TRUE(IsWholeUserMap("         0          0 4294967295\n"));
  for (const char* map : {"", "0 0 1", "0 100000 65536\n", "0 0 4294967295\n1 1 1\n", "x"})
    EXPECT_FALSE(IsWholeUserMap(map)) << map;
}

TEST(TextTest, TheDriversVersionIsTheFirstLinesNumberWithDots) {
  EXPECT_EQ(DriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  "
                          "Release Build\nGCC version:  gcc version 15.3.0\n"),
            "580.159.04");
  EXPECT_EQ(DriverVersion("NVRM version: none\nGCC version: 15.3.0\n"), "");
  EXPECT_EQ(DriverVersion(""), "");
}

}  // namespace
}  // namespace penstock::ctl
