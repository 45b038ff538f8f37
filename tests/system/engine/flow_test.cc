// Tests how a whole engine measures where time goes, what it reports about that, and how many
// workers it then asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/files/jpeg_maker.h"
#include "tests/system/engine/engine_rig.h"

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class FlowTest : public ::testing::Test {
 protected:
  void MakeSlow(EngineRig& rig) {
    const auto slow = testing::MakeJpeg(3600, 2400, {}, 1);
    for (uint64_t sample = 0; sample < EngineRig::kSamples; ++sample) rig.Become(sample, slow);
  }
  uint64_t OpenEndless(EngineRig& rig) {
    OpenRequest request = rig.Request(kPeer);
    request.epochs = 0;
    return rig.Open(request);
  }
  // Simulates a trainer that takes each batch at once and sleeps while there is none.
  void Hunger(EngineRig& rig, uint64_t session) {
    rig.each_turn = [&rig, session] {
      shm::ControlPage& page = rig.consumer(session).page();
      while (page.taken < page.announced) {
        const uint64_t sequence = page.taken + 1;
        rig.consumer(session).Take(sequence);
        rig.consumer(session).Release(sequence);
      }
      page.consumer_asleep = 1;
    };
  }
  static void RunFor(EngineRig& rig, base::Duration time) {
    rig.RunUntil([until = base::Now() + time] { return base::Now() >= until; });
  }
  static FeedInfo Feed(EngineRig& rig) { return rig.engine().views().View().feeds.at(0); }
};

TEST_F(FlowTest, AConsumerThatSaysItSleepsBesideReadyBatchesDoesNotStarve) {
  EngineRig rig;
  const uint64_t session = OpenEndless(rig);
  ASSERT_TRUE(rig.RunUntilAnnounced(session, 2));
  rig.consumer(session).Take(1);
  rig.consumer(session).page().consumer_asleep = 1;

  RunFor(rig, milliseconds(2500));

  EXPECT_EQ(Feed(rig).starved, 0);
  EXPECT_GT(Feed(rig).occupancy, 0.5);
  EXPECT_EQ(Feed(rig).verdict, "the trainer is the bottleneck");
  EXPECT_EQ(Feed(rig).bottleneck, Bottleneck::kTrainer);
}

TEST_F(FlowTest, AConsumerThatTookMoreThanThereIsAddsNoTime) {
  EngineRig rig;
  const uint64_t session = OpenEndless(rig);
  ASSERT_TRUE(rig.RunUntilAnnounced(session, 2));
  rig.consumer(session).Take(UINT64_MAX);

  RunFor(rig, milliseconds(100));

  EXPECT_LE(Feed(rig).stages.waits, 3u);
}

TEST_F(FlowTest, OfAnEpochEachSampleAndBatchIsCountedOnce) {
  EngineRig rig(2);
  const base::TimePoint before = base::Now();
  rig.TakeAll(rig.Open(rig.Request(kPeer)));
  RunFor(rig, milliseconds(50));  // the engine sees the consumer's last release
  const StageSums stages = Feed(rig).stages;

  EXPECT_EQ(stages.samples, EngineRig::kSamples);
  EXPECT_EQ(stages.batches, EngineRig::kSamples / EngineRig::kBatch);
  EXPECT_EQ(stages.waits, EngineRig::kSamples / EngineRig::kBatch);
  EXPECT_EQ(stages.copies, 0u);
  EXPECT_GT(stages.read, base::Duration::zero());
  EXPECT_GT(stages.decode, base::Duration::zero());
  EXPECT_LE(stages.decode, 2 * (base::Now() - before));  // two workers
  EXPECT_GT(stages.assemble, stages.decode / EngineRig::kBatch / 2);
}

TEST_F(FlowTest, ATrainerThatWaitsForBusyWorkersIsToldHowManyMoreWouldHideIt) {
  EngineRig rig;
  MakeSlow(rig);
  const uint64_t session = OpenEndless(rig);
  Hunger(rig, session);

  const std::string expected = "decoding is the bottleneck: at least 9 more workers";

  RunFor(rig, seconds(4));
  // While other processes use the CPU, workers look idle for a while.
  for (int more = 0; more < 4 && !Feed(rig).verdict.starts_with(expected); ++more)
    RunFor(rig, seconds(4));

  EXPECT_GT(Feed(rig).starved, 0.8);
  EXPECT_THAT(Feed(rig).verdict, HasSubstr(expected))
      << "busy: " << rig.engine().views().Workers(base::Now()).at(0).utilisation;
  EXPECT_EQ(rig.engine().views().WorkersPolicy(), "fixed");
}

TEST_F(FlowTest, WhoSaysHowManyWorkersThereAreEndsTheirGrowing) {
  EngineRig rig(1, nullptr, WorkerDemand::Options{.most = 3});
  ASSERT_TRUE(rig.engine().SetWorkers(2).ok());

  EXPECT_EQ(rig.engine().views().WorkersPolicy(), "fixed");
  EXPECT_EQ(rig.engine().views().GetVitals().workers, 2u);
}

TEST_F(FlowTest, WorkersGrowToTheirLimitForAStarvingTrainerAndShrinkWhenNobodyNeedsThem) {
  EngineRig rig(1, nullptr,
                WorkerDemand::Options{.most = 3, .settles = seconds(1), .idles = seconds(1)});
  MakeSlow(rig);
  const uint64_t session = OpenEndless(rig);
  Hunger(rig, session);
  EXPECT_EQ(rig.engine().views().WorkersPolicy(), "auto, 1 to 3");

  ASSERT_TRUE(rig.RunUntil([&] { return rig.engine().views().GetVitals().workers == 3; }));
  RunFor(rig, seconds(2));
  EXPECT_EQ(rig.engine().views().GetVitals().workers, 3u);

  rig.each_turn = [] {};
  ASSERT_TRUE(rig.engine().Close(kPeer, session, base::Now()).ok());
  ASSERT_TRUE(rig.RunUntil([&] { return rig.engine().views().GetVitals().workers == 1; }));
}

}  // namespace
}  // namespace penstock::feed
