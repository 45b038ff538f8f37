#include "server/feed/stats/worker_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class WorkerCpuTest : public ::testing::Test {
 protected:
  std::map<uint32_t, base::Duration> Look(int64_t pid, base::Duration used) {
    std::map<uint32_t, base::Duration> given;
    cpu_.Look(0, pid, used, [&](uint32_t user, base::Duration time) { given[user] += time; });
    return given;
  }
  WorkerCpu cpu_;
};

TEST_F(WorkerCpuTest, WhatIsNewIsDividedByTheTimeThatRowsTook) {
  Look(7, seconds(0));
  cpu_.Decoded(0, 1000, seconds(3));
  cpu_.Decoded(0, 1001, seconds(1));

  EXPECT_THAT(Look(7, seconds(2)), ElementsAre(Pair(1000, std::chrono::milliseconds(1500)),
                                               Pair(1001, std::chrono::milliseconds(500))));
  EXPECT_THAT(Look(7, seconds(2)), IsEmpty());
}

TEST_F(WorkerCpuTest, WhatItUsedBeforeItDecodedBelongsToTheFirst) {
  EXPECT_THAT(Look(7, seconds(1)), IsEmpty());
  cpu_.Decoded(0, 1000, seconds(1));

  EXPECT_THAT(Look(7, seconds(3)), ElementsAre(Pair(1000, seconds(3))));
}

TEST_F(WorkerCpuTest, AnotherProcessBeginsAtNothing) {
  cpu_.Decoded(0, 1000, seconds(1));
  Look(7, seconds(10));
  cpu_.Decoded(0, 1000, seconds(1));

  EXPECT_THAT(Look(8, seconds(2)), ElementsAre(Pair(1000, seconds(2))));
}

}  // namespace
}  // namespace penstock::feed
