// Tests what a dataset with storage trouble costs a healthy one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/stall/stall_rig.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- Reads that hang ----

class HangingKindTest : public StallTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HangingKindTest, CostsAHealthyOneNothingAndGoesOnWhenItComesBack) {
  const std::string kind = GetParam();
  Start();
  (void)TimeHealthy();  // fills the page cache and loads the programs
  const double alone = TimeHealthy();
  Client client = Connect();
  Taker taker(client.Open(OptionsOf(kind)).OrDie());
  ASSERT_TRUE(daemon_->Eventually([&] { return taker.batches() > 16; }));

  GoAway();
  ASSERT_TRUE(daemon_->Eventually([&] { return SomeReadHangs(); }));
  ExpectNoHarm("reads of " + kind + " hang", alone);

  ExpectState(kind, "is blocked");
  EXPECT_EQ(daemon_->Status().worker_restarts(), 0u);
  const uint64_t before = taker.batches();
  ComeBack();
  EXPECT_TRUE(daemon_->Eventually([&] { return taker.batches() > before + 32; }));
  EXPECT_EQ(daemon_->Quarantine().entries_size(), 0);
  EXPECT_FALSE(RunnerRead());
  EXPECT_EQ(taker.End().code(), Code::kOk) << taker.End().message();
  EXPECT_EQ(taker.delivered().twice, 0u);
}

TEST_P(HangingKindTest, ThatFailsCostsAHealthyOneNothingAndTheFeedFailsWithPathAndReason) {
  const std::string kind = GetParam();
  Start("4s");
  (void)TimeHealthy();
  const double alone = TimeHealthy();
  Client client = Connect();
  Taker taker(client.Open(OptionsOf(kind)).OrDie());
  ASSERT_TRUE(daemon_->Eventually([&] { return taker.batches() > 16; }));

  Break();
  const auto begun = steady_clock::now();
  ExpectNoHarm("reads of " + kind + " fail", alone);

  const Status end = taker.WaitForEnd();
  EXPECT_THAT(end.message(), AllOf(HasSubstr(folder_.At("a/")), HasSubstr("Input/output error"),
                                   HasSubstr("check their storage")));
  EXPECT_GE(Since(begun), 3.5);
  EXPECT_LT(Since(begun), 12);
  EXPECT_TRUE(daemon_->Status().serving());
  EXPECT_FALSE(RunnerRead());
}

INSTANTIATE_TEST_SUITE_P(Kinds, HangingKindTest,
                         ::testing::Values("folder", "tar", "tfrecord", "npy"),
                         [](const auto& info) { return std::string(info.param); });

// ---- Files that vanish ----

TEST_F(StallTest, FilesThatVanishCostAHealthyOneNothingAndTheFeedGoesOnWhenTheyAreBack) {
  Start();
  (void)TimeHealthy();
  const double alone = TimeHealthy();
  Client client = Connect();
  Taker taker(client.Open(OptionsOf("folder")).OrDie());
  ASSERT_TRUE(daemon_->Eventually([&] { return taker.batches() > 16; }));

  MoveClasses("a/folder", "a/gone");
  ExpectNoHarm("files vanish", alone);

  ExpectState("folder", "No such file");
  const uint64_t before = taker.batches();
  MoveClasses("a/gone", "a/folder");
  EXPECT_TRUE(daemon_->Eventually([&] { return taker.batches() > before + 32; }));
  EXPECT_EQ(taker.End().code(), Code::kOk) << taker.End().message();
  EXPECT_EQ(taker.delivered().twice, 0u);
}

// One missing file does not count as trouble of the file system: the dataset's other files stay
// readable.
TEST_F(StallTest, OneFileThatVanishesFailsItsFeedInTheEndAndNoOtherOfTheDataset) {
  Start("2s");
  fs::path gone;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.At("a/folder")))
    if (entry.is_regular_file()) gone = entry.path();
  Client client = Connect();
  Taker whole(client.Open(OptionsOf("folder")).OrDie());
  ASSERT_TRUE(daemon_->Eventually([&] { return whole.batches() > 8; }));
  fs::remove(gone);

  EXPECT_THAT(
      whole.WaitForEnd().message(),
      AllOf(HasSubstr(gone.string()), HasSubstr("No such file"), HasSubstr("check their storage")));
}

// ---- Datasets of another user ----

TEST_F(StallTest, AnotherUsersDatasetThatHangsCostsAHealthyOneNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Start();
  (void)TimeHealthy();
  const double alone = TimeHealthy();
  std::vector<std::unique_ptr<TrainerProcess>> others;
  for (const char* kind : {"folder", "tar"})
    others.push_back(std::make_unique<TrainerProcess>(
        daemon_->address(), kind, "flood", Identity{.user = kStranger, .groups = {kGroup}}));

  GoAway();
  ASSERT_TRUE(daemon_->Eventually([&] { return SomeReadHangs(); }));
  ExpectNoHarm("another user's reads hang", alone);
  EXPECT_FALSE(RunnerRead());
}

}  // namespace
}  // namespace penstock::testing
