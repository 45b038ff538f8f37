#include "server/app/service/reply_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <vector>

namespace penstock::app {
namespace {

TEST(ReplyExecutorTest, WhatIsGivenToItIsDoneInItsOrderAndBeforeItEnds) {
  std::vector<int> done;
  {
    ReplyExecutor executor;
    for (int i = 0; i < 1000; ++i) executor.Do([&done, i] { done.push_back(i); });
  }

  ASSERT_EQ(done.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(ReplyExecutorTest, WhoGivesItSomethingDoesNotWaitUntilItIsDone) {
  std::atomic<bool> may = false, did = false;
  std::optional<ReplyExecutor> executor(std::in_place);

  executor->Do([&] {
    while (!may) std::this_thread::yield();
    did = true;
  });

  EXPECT_FALSE(did);
  may = true;
  executor.reset();
  EXPECT_TRUE(did);
}

}  // namespace
}  // namespace penstock::app
