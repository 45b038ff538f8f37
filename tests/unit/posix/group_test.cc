#include "common/posix/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::posix {
namespace {

TEST(GroupTest, AGroupThatIsNotThereIsNamed) {
  const auto group = FindGroup("no-such-group");

  EXPECT_EQ(group.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(group.status().message()), ::testing::HasSubstr("'no-such-group'"));
}

TEST(GroupTest, NamesAndNumbersAreGroups) {
  EXPECT_EQ(*FindGroup("root"), 0u);
  EXPECT_EQ(*FindGroup("4711"), 4711u);
}

TEST(UserTest, OnlyTheFirstNamespaceGivesEveryUserANumber) {
  EXPECT_TRUE(MapsAllUsers("         0          0 4294967295"));
  EXPECT_FALSE(MapsAllUsers("         0     200000      65536"));
  EXPECT_FALSE(MapsAllUsers("      1000          0          1"));
  EXPECT_FALSE(MapsAllUsers("         0          0      65536"));
  EXPECT_FALSE(MapsAllUsers(""));
}

// What CheckStandsForOneUser says in a process that has a user namespace of its own: 0 for OK, 1
// for PermissionDenied, 2 if there can be no such namespace.
int InItsOwnNamespace(uid_t user) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(2);
    ::_exit(absl::IsPermissionDenied(CheckStandsForOneUser(user)) ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(UserTest, InANamespaceWithoutAllUsersNobodyMayBeAnybody) {
  EXPECT_TRUE(CheckStandsForOneUser(1000).ok());
  const int nobody = InItsOwnNamespace(65534);
  if (nobody == 2) GTEST_SKIP() << "SKIPPED: this machine forbids user namespaces";

  EXPECT_EQ(nobody, 1);
  EXPECT_EQ(InItsOwnNamespace(1000), 0);
}

}  // namespace
}  // namespace penstock::posix
