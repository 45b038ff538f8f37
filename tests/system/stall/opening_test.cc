// Opens sessions while the storage of another dataset, or of the state directory, hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/stall/stall_rig.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

class OpeningTest : public StallTest {
 protected:
  // Opens in a separate thread, because the call does not return.
  void BeginToOpen(const std::string& dataset) {
    std::thread([address = daemon_->address(), options = OptionsOf(dataset)] {
      Result<Client> client = Client::Connect({.address = address});
      if (client.ok()) (void)client->Open(options).ok();
    }).detach();
  }

  // Returns the seconds to open the healthy dataset and to receive its first batch.
  double TimeOpening() {
    const auto begun = steady_clock::now();
    Client client = Connect();
    Session session = client.Open(OptionsOf("b")).OrDie();
    EXPECT_TRUE(session.Next(seconds(10)).ok());
    return Since(begun);
  }
};

TEST_F(OpeningTest, WhatCannotBeIndexedHoldsUpNoOtherOpeningNorEpochNorStatus) {
  Start();
  (void)TimeHealthy();
  const double alone = TimeHealthy(), opening = TimeOpening();

  GoAway();
  for (const char* kind : {"folder", "tar", "tfrecord", "npy"}) BeginToOpen(kind);
  // As root, also opens one as another user.
  std::thread stranger([address = daemon_->address()] {
    if (geteuid() != 0) return;
    RunProgram("penstock-test-trainer", {address, "tar", "take"},
               Identity{.user = kStranger, .groups = {kGroup}});
  });
  ASSERT_TRUE(daemon_->Eventually([&] { return SomeReadHangs(); }));

  const double beside = TimeOpening();
  std::printf("opened in %.0f ms alone, %.0f ms beside it\n", 1e3 * opening, 1e3 * beside);
  EXPECT_LT(beside, opening + 0.5);
  ExpectNoHarm("no folder, tar, tfrecord or npy can be opened", alone);
  EXPECT_FALSE(RunnerRead());
  ComeBack();
  stranger.join();
}

// Two batches of 64 crops take 19 MiB. The rest of the user's share is smaller than one batch.
TEST_F(OpeningTest, WhatReadsOfClosedSessionsHoldIsTheirUsersShare) {
  more_config_ = "pool: {max: 64MiB}\nlimits: {max_pool_per_user: 40%}\n";
  Start();
  SessionOptions options = OptionsOf("folder");
  options.batch_size = 64;
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};
  options.window = 2;
  Client client = Connect();
  {
    Session session = client.Open(options).OrDie();
    GoAway();
    ASSERT_TRUE(daemon_->Eventually([&] {
      (void)session.Next(milliseconds(50));  // taking batches lets the daemon read more
      return SomeReadHangs();
    }));
  }
  options.dataset = "b";

  const Status refused = client.Open(options).status();

  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused.message();
  EXPECT_THAT(refused.message(), HasSubstr("closed sessions whose reads are blocked"));
  ComeBack();
  EXPECT_TRUE(daemon_->Eventually([&] { return client.Open(options).ok(); }));
}

TEST_F(OpeningTest, AStateDirectoryThatHangsHoldsUpNoFeedAndIsSaid) {
  folder_.MakeFolder("state");
  setenv("PENSTOCK_TEST_FOLDER", folder_.At("state").c_str(), 1);
  for (const auto& entry : fs::directory_iterator(folder_.At("b")))
    std::ofstream(entry.path() / "damaged.jpg") << "no photograph";
  state_dir_ = folder_.At("state");
  Start();
  Client client = Connect();
  const auto hang = [&] { std::ofstream(folder_.At("state.away")) << "away"; };

  SessionOptions options = OptionsOf("b");
  Session healthy = client.Open(options).OrDie();  // its quarantine is loaded, and grows
  hang();
  const auto begun = steady_clock::now();
  for (int batch = 0; batch < 30; ++batch)
    EXPECT_TRUE(healthy.Next(seconds(5)).ok() || batch > 0) << batch;
  EXPECT_LT(Since(begun), 2);
  const auto first = steady_clock::now();
  Session noticed = client.Open(OptionsOf("folder")).OrDie();
  EXPECT_LT(Since(first), 8);  // each of its state files has 2 s, until one took too long
  const auto second = steady_clock::now();
  Session other = client.Open(OptionsOf("tar")).OrDie();
  EXPECT_LT(Since(second), 1);
  EXPECT_TRUE(other.Next(seconds(5)).ok());
  ExpectToAnswer();
  EXPECT_THAT(daemon_->Ctl({"status"}).output, HasSubstr("the state directory has not answered"));
  EXPECT_THAT(daemon_->log(), HasSubstr("state_directory_stalled"));
  EXPECT_FALSE(fs::exists(folder_.At("state.runner")));

  fs::remove(folder_.At("state.away"));
  EXPECT_TRUE(daemon_->Eventually([&] {
    return daemon_->Ctl({"status"}).output.find("state directory") == std::string::npos;
  })) << daemon_->Ctl({"status"}).output;
  EXPECT_FALSE(fs::is_empty(folder_.At("state/quarantine")));  // the entries found meanwhile
}

}  // namespace
}  // namespace penstock::testing
