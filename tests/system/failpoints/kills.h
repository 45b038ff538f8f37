// The base of tests that kill at failpoints under two trainers, and compare all that these get with
// an undisturbed run. A failpoint that is never reached is a failure. A failure prints what repeats
// it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/system/failpoints/disturbed_run.h"

namespace penstock::testing {

class KillsAtFailpoints : public ::testing::Test {
 protected:
  explicit KillsAtFailpoints(Where where) : where_(where), runs_(where) {}
  void SetUp() override;

  // How often the undisturbed run came there.
  int ReachedAt(const std::string& name) const;

  // Returns how often it acted. In any case the trainers must have got the same.
  int TryAndCompare(const Disturbance& what);

  // After two thirds of the times at which the undisturbed run came there, so beyond those of the
  // start; earlier if another run comes there less often. Of workers, so many die that some of them
  // must be replacements.
  void KillIn(const std::string& name);

  // At once, and again when it comes there after its restart; and an error in its place.
  void KillTwiceAndFail(const std::string& name);

  // As PENSTOCK_TEST_FAILPOINTS says: name=terms; or 'all' of these in all ways; or the first
  // letters of those that are wanted, in all ways. Without it, `usual`.
  void KillAt(const std::vector<std::string>& usual);

  static bool NeedsGpu(const std::string& name) { return absl::StartsWith(name, "gpu."); }
  static bool IsInPython(const std::string& name) { return absl::StartsWith(name, "python."); }
  // The failpoints that are this test's: on a GPU those of GPU delivery, of a Python dataset those
  // on the way of its batches, elsewhere all others.
  bool IsOurs(const std::string& name) const;
  std::vector<std::string> Reachable() const;

 private:
  void PrintUnreachable() const;
  bool IsExpected(const std::string& error, const std::string& failpoint) const;
  bool IsSame(const DisturbedRuns::Got& got) const;

  const Where where_;
  DisturbedRuns runs_;
  const std::vector<std::string> names_ = AllFailpoints();
  DisturbedRuns::Got expected_;
};

}  // namespace penstock::testing
