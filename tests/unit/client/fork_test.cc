// A forked child's calls on its parent's objects return an error and do nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "client/src/session/session_core.h"
#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {
namespace {

constexpr std::chrono::milliseconds kNow{0};

// Runs `check` in a forked child and returns its result.
bool InChild(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ForkTest : public ::testing::Test {
 protected:
  FakeDaemon daemon_;
  Reopening reopening_;
  SessionCore session_{std::make_unique<FakeOpener>(&reopening_), daemon_.Attach().value(), {}};
};

TEST_F(ForkTest, NextInAChildSaysSoAndTakesNothing) {
  daemon_.AnnounceNext();

  EXPECT_TRUE(
      InChild([&] { return session_.Next(kNow).status().code() == Code::kFailedPrecondition; }));

  EXPECT_EQ(daemon_.page().taken, 0u);
  EXPECT_TRUE(session_.Next(kNow).ok());
}

TEST_F(ForkTest, CloseAndQuarantinedInAChildSaySo) {
  EXPECT_TRUE(InChild([&] {
    return session_.Close().code() == Code::kFailedPrecondition &&
           session_.Quarantined().status().code() == Code::kFailedPrecondition;
  }));

  EXPECT_THAT(daemon_.link->closed, ::testing::IsEmpty());
}

TEST_F(ForkTest, ABatchThatEndsInAChildStaysTheParents) {
  daemon_.AnnounceNext();
  daemon_.page().daemon_asleep.store(1);
  Result<Batch> batch = session_.Next(kNow);

  EXPECT_TRUE(InChild([&] {
    batch->Release();
    return batch->images().empty();
  }));

  EXPECT_EQ(daemon_.page().released[0], 0u);
  batch->Release();
  EXPECT_EQ(daemon_.page().released[0], 1u);
}

TEST_F(ForkTest, AFinishInAChildSaysSo) {
  daemon_.AnnounceNext();
  const Result<Batch> batch = session_.Next(kNow);

  EXPECT_TRUE(InChild([&] {
    float floats[48];
    return batch->FinishInto({}, floats, sizeof(floats)).code() == Code::kFailedPrecondition;
  }));
}

TEST_F(ForkTest, WhatIsMadeInTheChildWorksThere) {
  EXPECT_TRUE(InChild([&] {
    SessionCore own(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach().value(), {});
    daemon_.AnnounceNext();
    return own.Next(kNow).ok();
  }));
}

}  // namespace
}  // namespace penstock::client
