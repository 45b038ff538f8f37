// Kills the daemon, its workers and its indexers at their failpoints (kills.h), while trainers take
// batches into host memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/system/failpoints/kills.h"

namespace penstock::testing {
namespace {

// Where CI kills; `all` kills everywhere. One of each kind of harm: a file half replaced, a row and
// a batch on their way, memory half given back, a session nobody knows of, an end half done, and
// workers that die. (PrivateDaemonFailpointsTest has starts half done.)
const std::vector<std::string> kUsual = {"state.before_rename",
                                         "row.done",
                                         "batch.announced",
                                         "pool.segment_given_up",
                                         "session.opened_not_answered",
                                         "drain.session_ends",
                                         "worker_program.row_written"};

class FailpointsTest : public KillsAtFailpoints {
 protected:
  FailpointsTest() : KillsAtFailpoints(Where::kOnHost) {}
};

TEST_F(FailpointsTest, WhereverTheDaemonIsKilledTrainersGetTheSame) { KillAt(kUsual); }

}  // namespace
}  // namespace penstock::testing
