#include "server/app/sandbox_proofs.h"

#include <gtest/gtest.h>

namespace penstock::app {
namespace {

TEST(WeakestTest, WhatIsShownIsWhatAllOfThemHave) {
  const sandbox::SandboxReport both = {.filters_calls = true, .landlock = 6};
  const sandbox::SandboxReport no_landlock = {.filters_calls = true, .landlock = 0};
  const sandbox::SandboxReport none = {.filters_calls = false, .landlock = 6};

  EXPECT_EQ(Weakest({both, both}).text, "seccomp and landlock");
  EXPECT_EQ(Weakest({both, no_landlock}).text, "seccomp");
  EXPECT_EQ(Weakest({no_landlock, both}).text, "seccomp");
  EXPECT_EQ(Weakest({both, none}).text, "none (built with a sanitizer)");
  EXPECT_TRUE(Weakest({both, no_landlock}).filters_calls);
  EXPECT_FALSE(Weakest({none, both}).filters_calls);
}

TEST(WeakestTest, OffHasNothingToProve) {
  config::v1::Config config;
  config.mutable_workers()->set_sandbox(config::v1::Workers::SANDBOX_OFF);
  const auto summary = SandboxProofs::Start(config)->Finish();

  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->text, "off");
  EXPECT_FALSE(summary->filters_calls);
}

}  // namespace
}  // namespace penstock::app
