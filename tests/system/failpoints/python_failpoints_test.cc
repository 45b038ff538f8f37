// Kills the daemon at the failpoints on the way of a Python dataset's batches (kills.h), and lets
// them fail. Three trainers fork the hosts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/system/failpoints/kills.h"

namespace penstock::testing {
namespace {

// Where something is done that can fail.
const std::vector<std::string> kThatFail = {
    "python.token",
    "python.host_page",
    "python.before_host_page_sent",
    "python.channel",
    "python.before_channel_sent",
    "python.before_segment_sent",
    "python.first_room",
    "python.room",
};

// Where CI kills; `all` kills everywhere: asking, entering, giving, answering, ending.
const std::vector<std::string> kUsualInPython = {
    "python.host_wanted",    "python.maker_arrived", "python.before_worker_wanted",
    "python.channel_sent",   "python.batch_given",   "python.room_not_told",
    "python.host_gone",      "python.worker_died",   "python.result_collected",
    "doorway.before_welcome"};

class PythonFailpointsTest : public KillsAtFailpoints {
 protected:
  PythonFailpointsTest() : KillsAtFailpoints(Where::kInPython) {}
};

TEST_F(PythonFailpointsTest, WhereverTheDaemonIsKilledTrainersGetTheSame) {
  KillAt(kUsualInPython);
}

// More often in a row than a dataset's hosts may fail.
TEST_F(PythonFailpointsTest, WhateverFailsTrainersGetTheSameOrAreToldWhatFailed) {
  const char* chosen = std::getenv("PENSTOCK_TEST_FAILPOINTS");
  if (chosen != nullptr && std::string(chosen) != "all") GTEST_SKIP() << "others are wanted";
  for (const std::string& name : kThatFail)
    EXPECT_GT(TryAndCompare({name + "=4*error(14)"}), 0) << name;
}

}  // namespace
}  // namespace penstock::testing
