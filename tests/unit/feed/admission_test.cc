#include "server/feed/sessions/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using ::testing::HasSubstr;

constexpr Applicant kFirst = {.user = 7, .window_bytes = 100, .pool_bytes = 1000};

TEST(AdmissionTest, WhoStaysWithinAllLimitsComesIn) {
  EXPECT_TRUE(Admit({}, kFirst).ok());
  EXPECT_TRUE(Admit({.max_pool_per_user = 0.1}, kFirst).ok());
}

TEST(AdmissionTest, EachLimitIsNamedWithItsNumbers) {
  struct Case {
    Admission limits;
    Applicant applicant;
    const char* words;
  };
  Applicant full = kFirst, many = kFirst, late = kFirst;
  full.open_window_bytes = 401;
  many.sessions = 2;
  late.all_sessions = 3;
  for (const Case& each : {Case{{.max_pool_per_user = 0.5}, full, "limits.max_pool_per_user"},
                           Case{{.max_sessions_per_user = 2}, many, "limits.max_sessions_per_user"},
                           Case{{.max_sessions = 3}, late, "server.max_sessions"}}) {
    const absl::Status refused = Admit(each.limits, each.applicant);
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << each.words;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(each.words));
  }
}

TEST(AdmissionTest, MemoryThatReadsStillHoldIsTheUsersToo) {
  Applicant applicant = kFirst;
  applicant.left_behind_bytes = 450;

  const absl::Status refused = Admit({.max_pool_per_user = 0.5}, applicant);

  EXPECT_THAT(std::string(refused.message()), HasSubstr("check their storage"));
}

TEST(AdmissionTest, AStateOfAnotherFeedIsRefusedWithBothFingerprints) {
  EXPECT_TRUE(CheckFingerprint(0, 0xabc).ok());
  EXPECT_TRUE(CheckFingerprint(0xabc, 0xabc).ok());

  const absl::Status refused = CheckFingerprint(0xdef, 0xabc);

  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), ::testing::AllOf(HasSubstr("def"), HasSubstr("abc")));
}

}  // namespace
}  // namespace penstock::feed
