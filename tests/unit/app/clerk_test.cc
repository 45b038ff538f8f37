#include "server/app/clerk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <vector>

namespace penstock::app {
namespace {

TEST(ClerkTest, WhatIsGivenToItIsDoneInItsOrderAndBeforeItEnds) {
  std::vector<int> done;
  {
    Clerk clerk;
    for (int i = 0; i < 1000; ++i) clerk.Do([&done, i] { done.push_back(i); });
  }

  ASSERT_EQ(done.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(ClerkTest, WhoGivesItSomethingDoesNotWaitUntilItIsDone) {
  std::atomic<bool> may = false, did = false;
  std::optional<Clerk> clerk(std::in_place);

  clerk->Do([&] {
    while (!may) std::this_thread::yield();
    did = true;
  });

  EXPECT_FALSE(did);
  may = true;
  clerk.reset();
  EXPECT_TRUE(did);
}

}  // namespace
}  // namespace penstock::app
