#include "server/doorway/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/posix/process.h"
#include "tests/unit/doorway/visit.h"

namespace penstock::doorway {
namespace {

using ::testing::ElementsAre;

posix::Fd Self() { return *posix::OpenPidfd(::getpid()); }

TEST(ProcessesTest, AProcessIsForgottenWithTheLastOfItsPeers) {
  Processes processes;
  const auto entry = processes.Add(PeerId(1), ::getpid(), Self());
  processes.Add(PeerId(2), ::getpid(), Self());

  EXPECT_EQ(processes.Forget(PeerId(1)), std::nullopt);
  EXPECT_FALSE(processes.Contains(PeerId(1)));
  EXPECT_TRUE(processes.Contains(PeerId(2)));
  EXPECT_EQ(processes.Forget(PeerId(2)), entry.key);
  EXPECT_EQ(processes.Forget(PeerId(2)), std::nullopt);
  EXPECT_THAT(processes.Remove(entry.key), ElementsAre());
}

TEST(ProcessesTest, AProcessThatConnectsAgainIsWatchedOnce) {
  Processes processes;

  const auto first = processes.Add(PeerId(1), ::getpid(), Self());
  const auto second = processes.Add(PeerId(2), ::getpid(), Self());

  EXPECT_TRUE(first.is_new);
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(first.key, second.key);
  EXPECT_THAT(processes.Remove(first.key), ElementsAre(PeerId(1), PeerId(2)));
}

TEST(ProcessesTest, ProcessesThatTheKernelCannotNameAreNotTakenForOne) {
  Processes processes;

  EXPECT_NE(processes.Add(PeerId(1), 0, Self()).key, processes.Add(PeerId(2), 0, Self()).key);
}

TEST(ProcessesTest, ANewProcessUnderADeadOnesPidIsAnother) {
  Processes processes;
  const pid_t child = Fork([] { return 0; });
  posix::Fd of_child = *posix::OpenPidfd(child);
  WaitForExit(child);
  const auto dead = processes.Add(PeerId(1), child, std::move(of_child));

  const auto living = processes.Add(PeerId(2), child, Self());

  EXPECT_NE(dead.key, living.key);
  EXPECT_TRUE(processes.IsGone(dead.key));
  EXPECT_FALSE(processes.IsGone(living.key));
  EXPECT_FALSE(processes.IsGone(77));
}

}  // namespace
}  // namespace penstock::doorway
