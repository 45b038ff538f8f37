// Valid terms for failpoints, and the order in which they apply.
#include "common/posix/failpoint_terms.h"

#include <gtest/gtest.h>

namespace penstock::posix {
namespace {

FailpointTerms Terms(const char* text) { return FailpointTerms::Parse(text).value(); }

TEST(FailpointTermsTest, WhatIsNotNamedDoesNothing) {
  FailpointTerms terms = Terms("a=kill");

  EXPECT_EQ(terms.Next("b").action, FailpointAction::kOff);
  EXPECT_EQ(terms.Next("a").action, FailpointAction::kKill);
  EXPECT_EQ(terms.Next("a").action, FailpointAction::kKill);
}

TEST(FailpointTermsTest, CountedTermsFollowEachOther) {
  FailpointTerms terms = Terms("a=2*off->1*kill;b=delay(7)");

  EXPECT_EQ(terms.Next("a").action, FailpointAction::kOff);
  EXPECT_EQ(terms.Next("a").action, FailpointAction::kOff);
  EXPECT_EQ(terms.Next("a").action, FailpointAction::kKill);
  EXPECT_EQ(terms.Next("a").action, FailpointAction::kOff);
  EXPECT_EQ(terms.Next("b").argument, 7);
}

TEST(FailpointTermsTest, ActionsHaveDefaultArguments) {
  EXPECT_EQ(Terms("a=exit").Next("a").argument, 1);
  EXPECT_EQ(Terms("a=error").Next("a").argument, 14);
  EXPECT_EQ(Terms("a=error(5)").Next("a").argument, 5);
  EXPECT_EQ(Terms("a=pause").Next("a").action, FailpointAction::kPause);
}

TEST(FailpointTermsTest, WhatIsNoTermIsRefusedAndQuoted) {
  for (const char* text : {"a", "a=", "=kill", "a=die", "a=0*kill", "a=x*kill", "a=kill(1)",
                           "a=delay(x)", "a=delay(-1)", "a=kill->", "a=exit(1", "a=error(0)",
                           "a=error(17)", "a=exit(256)", "a=delay(4000000)"}) {
    const auto terms = FailpointTerms::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(terms.status())) << text;
  }
  EXPECT_TRUE(Terms("").empty());
}

}  // namespace
}  // namespace penstock::posix
