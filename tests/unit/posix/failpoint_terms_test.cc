// Valid terms for failpoints, and the order in which they apply.
#include "common/posix/failpoint_terms.h"

#include <gtest/gtest.h>

namespace penstock::posix {
namespace {

FailpointTerms Terms(const char* text) { return FailpointTerms::Parse(text).value(); }

// What this failpoint does when it has been reached so many times.
FailpointTerm At(const FailpointTerms& terms, const char* name, uint64_t before = 0) {
  const std::optional<size_t> place = terms.Find(name);
  return place ? terms.Choose(*place, before) : FailpointTerm{};
}

TEST(FailpointTermsTest, WhatIsNotNamedDoesNothing) {
  const FailpointTerms terms = Terms("b=kill;d=off");

  for (const char* name : {"a", "c", "e", ""}) EXPECT_FALSE(terms.Find(name)) << name;
  EXPECT_EQ(At(terms, "b").action, FailpointAction::kKill);
  EXPECT_EQ(At(terms, "b", 1000).action, FailpointAction::kKill);
}

TEST(FailpointTermsTest, CountedTermsFollowEachOther) {
  const FailpointTerms terms = Terms("b=delay(7);a=2*off->1*kill");

  EXPECT_EQ(At(terms, "a", 0).action, FailpointAction::kOff);
  EXPECT_EQ(At(terms, "a", 1).action, FailpointAction::kOff);
  EXPECT_EQ(At(terms, "a", 2).action, FailpointAction::kKill);
  EXPECT_EQ(At(terms, "a", 3).action, FailpointAction::kOff);
  EXPECT_EQ(At(terms, "b").argument, 7);
}

// So that all processes agree on the places.
TEST(FailpointTermsTest, TheOrderIsThatOfTheAlphabet) {
  const FailpointTerms terms = Terms("b=kill;c=off;a=off;b=off");

  ASSERT_EQ(terms.size(), 3u);
  EXPECT_EQ(terms.name(0), "a");
  EXPECT_EQ(terms.name(2), "c");
  EXPECT_EQ(terms.Find("b"), 1u);
}

TEST(FailpointTermsTest, ActionsHaveDefaultArguments) {
  EXPECT_EQ(At(Terms("a=exit"), "a").argument, 1);
  EXPECT_EQ(At(Terms("a=error"), "a").argument, 14);
  EXPECT_EQ(At(Terms("a=error(5)"), "a").argument, 5);
  EXPECT_EQ(At(Terms("a=pause"), "a").action, FailpointAction::kPause);
}

TEST(FailpointTermsTest, WhatIsNoTermIsRefusedAndQuoted) {
  for (const char* text : {"a", "a=", "=kill", "a=die", "a=0*kill", "a=x*kill", "a=kill(1)",
                           "a=delay(x)", "a=delay(-1)", "a=kill->", "a=exit(1", "a=error(0)",
                           "a=error(17)", "a=exit(256)", "a=delay(4000000)"}) {
    const auto terms = FailpointTerms::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(terms.status())) << text;
  }
  EXPECT_EQ(Terms("").size(), 0u);
}

}  // namespace
}  // namespace penstock::posix
