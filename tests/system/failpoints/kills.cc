#include "tests/system/failpoints/kills.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace penstock::testing {
namespace {

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

// The daemon has two workers for each of three users, so a seventh dies only if it is a
// replacement.
int HowManyDie(const std::string& name) { return absl::StartsWith(name, kOfWorkers) ? 7 : 1; }

}  // namespace

void KillsAtFailpoints::SetUp() {
  ASSERT_GE(names_.size(), 30u);
  std::string counting;
  for (const std::string& name : names_) absl::StrAppend(&counting, name, "=delay(0);");
  expected_ = runs_.Run({counting});
  ASSERT_TRUE(expected_.ended);
  const size_t rows = where_ == Where::kInPython ? 128 : 120;
  EXPECT_EQ(expected_.by_state.rows.size(), rows);
  EXPECT_EQ(expected_.in_order.rows.size(), rows);
  EXPECT_EQ(expected_.in_streams.rows.size(), where_ == Where::kInPython ? rows : 0);
  EXPECT_TRUE(IsSame(expected_));
  for (const std::string& error : expected_.errors) EXPECT_TRUE(IsExpected(error, "")) << error;
  EXPECT_EQ(expected_.left, "");
  PrintUnreachable();
  for (const std::string& name : Reachable())
    EXPECT_TRUE(expected_.acted.contains(name)) << name << " is never reached";
}

void KillsAtFailpoints::PrintUnreachable() const {
  if (where_ != Where::kOnHost) return;
  for (const std::string& name : names_)
    if (NeedsGpu(name))
      std::printf("%-44s not reached: trainers on a GPU come there (failpoints_gpu_test)\n",
                  name.c_str());
}

std::vector<std::string> KillsAtFailpoints::Reachable() const {
  std::vector<std::string> reachable;
  for (const std::string& name : names_)
    if (IsOurs(name)) reachable.push_back(name);
  return reachable;
}

bool KillsAtFailpoints::IsOurs(const std::string& name) const {
  if (NeedsGpu(name)) return where_ == Where::kOnGpu;
  return IsInPython(name) == (where_ == Where::kInPython) && where_ != Where::kOnGpu;
}

bool KillsAtFailpoints::IsSame(const DisturbedRuns::Got& got) const {
  return got.by_state == expected_.by_state && got.in_order == expected_.in_order &&
         got.in_streams == expected_.in_streams &&
         got.by_state.twice + got.in_order.twice + got.in_streams.twice == 0;
}

// An error says what failed. Streams end with their worker, which trainers kill.
bool KillsAtFailpoints::IsExpected(const std::string& error, const std::string& failpoint) const {
  if (!failpoint.empty() && absl::StrContains(error, "failpoint " + failpoint)) return true;
  if (failpoint == "python.room" && error == "error no room for a batch") return true;
  return absl::StrContains(error, "its stream cannot be continued by another");
}

int KillsAtFailpoints::ReachedAt(const std::string& name) const {
  const auto found = expected_.acted.find(name);
  return found == expected_.acted.end() ? 0 : found->second;
}

int KillsAtFailpoints::TryAndCompare(const Disturbance& what) {
  const std::string name = what.failpoints.substr(0, what.failpoints.find('='));
  const DisturbedRuns::Got got = runs_.Run(what);
  const auto acted = got.acted.find(name);
  const int times = acted == got.acted.end() ? 0 : acted->second;
  const bool same = got.ended && IsSame(got);
  std::printf("%-44s %9d %6d  %s\n", what.failpoints.c_str(), ReachedAt(name), times,
              same ? "the same" : "OTHER ROWS");
  std::fflush(stdout);
  const std::string replay = absl::StrCat("repeat it: PENSTOCK_TEST_FAILPOINTS='", what.failpoints,
                                          "' PENSTOCK_TEST_LIVES=", what.lives, " failpoints_test");
  EXPECT_TRUE(got.ended) << "the trainers did not come to their ends; " << replay;
  EXPECT_TRUE(same) << "by state: " << Difference(got.by_state, expected_.by_state)
                    << " in an order: " << Difference(got.in_order, expected_.in_order)
                    << " in streams: " << Difference(got.in_streams, expected_.in_streams) << "\n"
                    << replay;
  for (const std::string& error : got.errors)
    EXPECT_TRUE(IsExpected(error, name)) << error << "\n" << replay << "\n" << got.log;
  EXPECT_EQ(got.left, "") << "is left behind; " << replay;
  return times;
}

void KillsAtFailpoints::KillIn(const std::string& name) {
  for (int before = ReachedAt(name) * 2 / 3;; before /= 2) {
    const std::string skipped = before > 0 ? absl::StrCat(before, "*off->") : "";
    const std::string terms = absl::StrCat(name, "=", skipped, HowManyDie(name), "*kill");
    if (TryAndCompare({terms}) >= HowManyDie(name)) return;
    if (before == 0) break;
  }
  ADD_FAILURE() << "not enough was killed at " << name;
}

void KillsAtFailpoints::KillTwiceAndFail(const std::string& name) {
  EXPECT_GT(TryAndCompare({name + "=1*kill", 2}), 0) << name;
  EXPECT_GT(TryAndCompare({name + "=1*error(14)"}), 0) << name;
}

void KillsAtFailpoints::KillAt(const std::vector<std::string>& usual) {
  const char* chosen = std::getenv("PENSTOCK_TEST_FAILPOINTS");
  const std::string what = chosen == nullptr ? "" : chosen;
  std::printf("%-44s %9s %6s  %s\n", "failpoint", "reached", "acted", "the trainers got");
  if (const size_t end = what.find('='); end != std::string::npos) {
    if (!IsOurs(what.substr(0, end))) GTEST_SKIP() << what << " is another test's";
    const char* lives = std::getenv("PENSTOCK_TEST_LIVES");
    EXPECT_GT(TryAndCompare({what, lives == nullptr ? 1 : std::atoi(lives)}), 0);
    return;
  }
  for (const std::string& name : what.empty() ? usual : Reachable()) {
    if (what != "all" && !absl::StartsWith(name, what)) continue;
    KillIn(name);
    if (!what.empty()) KillTwiceAndFail(name);
  }
}

}  // namespace penstock::testing
