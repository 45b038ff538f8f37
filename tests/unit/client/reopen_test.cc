#include "client/src/session/reopen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReopenTest : public ::testing::Test {
 protected:
  // Fails `refusals` times with `refusal`, then opens the daemon's session.
  absl::StatusOr<Opened> After(int refusals, const absl::Status& refusal) {
    return Reopen(
        [&, refusals]() -> absl::StatusOr<Opened> {
          if (++attempts_ <= refusals) return refusal;
          return daemon_.Attach();
        },
        before_, base::TimePoint(seconds(10)), clock_);
  }

  FakeDaemon daemon_;
  Grant before_ = SmallGrant();
  int attempts_ = 0;
  base::TimePoint now_{};
  std::vector<base::Duration> pauses_;
  const ReopenClock clock_ = {.now = [this] { return now_; },
                              .sleep =
                                  [this](base::Duration pause) {
                                    pauses_.push_back(pause);
                                    now_ += pause;
                                  }};
};

TEST_F(ReopenTest, ADaemonThatIsThereIsNotWaitedFor) {
  EXPECT_TRUE(After(0, {}).ok());

  EXPECT_TRUE(pauses_.empty());
}

TEST_F(ReopenTest, PausesDoubleUpToASecond) {
  EXPECT_TRUE(After(7, absl::UnavailableError("not there")).ok());

  EXPECT_THAT(pauses_, ElementsAre(milliseconds(50), milliseconds(100), milliseconds(200),
                                   milliseconds(400), milliseconds(800), seconds(1), seconds(1)));
}

TEST_F(ReopenTest, ItEndsBeforeTheDeadlineWithTheLastReason) {
  const absl::Status status = After(1000, absl::NotFoundError("no such socket")).status();

  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("could not reconnect to the daemon: no such socket"));
  EXPECT_LT(now_, base::TimePoint(seconds(10)));
}

TEST_F(ReopenTest, WhatDoesNotPassIsNotTriedAgain) {
  EXPECT_TRUE(absl::IsInvalidArgument(After(1, absl::InvalidArgumentError("no")).status()));

  EXPECT_EQ(attempts_, 1);
}

TEST_F(ReopenTest, AnotherFeedOrOtherFilesAreRefused) {
  before_.fingerprint = 0xBAD;
  EXPECT_TRUE(absl::IsFailedPrecondition(After(0, {}).status()));

  Grant now = SmallGrant();
  before_ = SmallGrant();
  before_.files = 1;
  now.files = 2;
  EXPECT_TRUE(absl::IsDataLoss(CheckSameFeed(before_, now)));
  now.files = 0;
  EXPECT_TRUE(CheckSameFeed(before_, now).ok()) << "unknown";
}

}  // namespace
}  // namespace penstock::client
