// Kills the daemon at its failpoints, under two trainers, and compares all that they get with an
// undisturbed run. A failpoint that is never reached is a failure. A failure prints what repeats
// it: PENSTOCK_TEST_FAILPOINTS='name=terms', or 'all' for all failpoints in all ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/system/failpoints/disturbed_run.h"

namespace penstock::testing {
namespace {

// Where CI kills; `all` kills everywhere. One of each kind of harm: a file half replaced, a row and
// a batch on their way, a session nobody knows of, a start and an end half done.
const std::vector<std::string> kUsual = {
    "state.before_rename",         "row.done",          "batch.announced", "start.doorway_open",
    "session.opened_not_answered", "drain.session_ends"};

// Which rows differ, for the message.
std::string Difference(const Delivered& got, const Delivered& expected) {
  std::string text = absl::StrCat(got.rows.size(), " rows of ", expected.rows.size(), ", ",
                                  got.twice, " of them twice;");
  int shown = 0;
  for (const auto& [place, row] : expected.rows) {
    const auto found = got.rows.find(place);
    if (found != got.rows.end() && found->second == row) continue;
    if (++shown > 5) break;
    absl::StrAppend(&text, " epoch ", place.first, " position ", place.second, " is sample ",
                    found == got.rows.end() ? -1 : static_cast<int64_t>(found->second.sample),
                    ", not ", row.sample, ";");
  }
  return text;
}

class FailpointsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(names_.size(), 30u);
    std::string counting;
    for (const std::string& name : names_) absl::StrAppend(&counting, name, "=delay(0);");
    expected_ = runs_.Run({counting});
    ASSERT_TRUE(expected_.ended);
    EXPECT_EQ(expected_.by_state.rows.size(), 120u);
    EXPECT_EQ(expected_.in_order.rows.size(), 120u);
    EXPECT_EQ(expected_.by_state.twice + expected_.in_order.twice, 0u);
    EXPECT_EQ(expected_.left, "");
    for (const std::string& name : names_)
      EXPECT_TRUE(expected_.acted.contains(name)) << name << " is never reached";
  }

  // How often the undisturbed run came there.
  int ReachedAt(const std::string& name) const {
    const auto found = expected_.acted.find(name);
    return found == expected_.acted.end() ? 0 : found->second;
  }

  // Returns whether it acted. If so, the trainers must have got the same.
  bool TryAndCompare(const Disturbance& what) {
    const std::string name = what.failpoints.substr(0, what.failpoints.find('='));
    const DisturbedRuns::Got got = runs_.Run(what);
    const auto acted = got.acted.find(name);
    const int times = acted == got.acted.end() ? 0 : acted->second;
    const bool same = got.ended && got.by_state == expected_.by_state &&
                      got.in_order == expected_.in_order &&
                      got.by_state.twice + got.in_order.twice == 0;
    std::printf("%-44s %9d %6d  %s\n", what.failpoints.c_str(), ReachedAt(name), times,
                same ? "the same" : "OTHER ROWS");
    std::fflush(stdout);
    const std::string replay =
        absl::StrCat("repeat it: PENSTOCK_TEST_FAILPOINTS='", what.failpoints,
                     "' PENSTOCK_TEST_LIVES=", what.lives, " failpoints_test");
    EXPECT_TRUE(got.ended) << "the trainers did not come to their ends; " << replay;
    EXPECT_TRUE(same) << "by state: " << Difference(got.by_state, expected_.by_state)
                      << " in an order: " << Difference(got.in_order, expected_.in_order) << "\n"
                      << replay;
    EXPECT_EQ(got.left, "") << "is left behind; " << replay;
    return times > 0;
  }

  // After two thirds of the times at which the undisturbed run came there, so beyond those of the
  // start; earlier if another run comes there less often.
  void KillIn(const std::string& name) {
    for (int before = ReachedAt(name) * 2 / 3;; before /= 2) {
      const std::string skipped = before > 0 ? absl::StrCat(before, "*off->") : "";
      if (TryAndCompare({absl::StrCat(name, "=", skipped, "1*kill")})) return;
      if (before == 0) break;
    }
    ADD_FAILURE() << "the daemon was never killed at " << name;
  }

  // At once, and again when it comes there after its restart; and an error in its place.
  void KillTwiceAndFail(const std::string& name) {
    EXPECT_TRUE(TryAndCompare({name + "=1*kill", 2})) << name;
    EXPECT_TRUE(TryAndCompare({name + "=1*error(14)"})) << name;
  }

  DisturbedRuns runs_;
  const std::vector<std::string> names_ = AllFailpoints();
  DisturbedRuns::Got expected_;
};

TEST_F(FailpointsTest, WhereverTheDaemonIsKilledTrainersGetTheSame) {
  const char* chosen = std::getenv("PENSTOCK_TEST_FAILPOINTS");
  const std::string what = chosen == nullptr ? "" : chosen;
  std::printf("%-44s %9s %6s  %s\n", "failpoint", "reached", "acted", "the trainers got");
  if (what.find('=') != std::string::npos) {
    const char* lives = std::getenv("PENSTOCK_TEST_LIVES");
    EXPECT_TRUE(TryAndCompare({what, lives == nullptr ? 1 : std::atoi(lives)}));
    return;
  }
  for (const std::string& name : what == "all" ? names_ : kUsual) {
    KillIn(name);
    if (what == "all") KillTwiceAndFail(name);
  }
}

}  // namespace
}  // namespace penstock::testing
