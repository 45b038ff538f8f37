// What trainers of a Python dataset get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/programs/daemon_process.h"
#include "tests/system/python/maker_processes.h"

namespace penstock::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class MadeBatchesTest : public ::testing::Test {
 protected:
  std::vector<uint32_t> HowOftenMade() const { return {script_.made.begin(), script_.made.end()}; }

  DaemonProcess daemon_{{}};
  Script& script_ = Script::Shared();
  PythonTrainer trainer_{daemon_.address(), script_};
};

TEST_F(MadeBatchesTest, AnEpochIsMadeOnceInOrderByAllWorkers) {
  script_.sample_ms = 2;
  Session session = trainer_.Open(trainer_.Options());

  const std::vector<MadeContent> all = trainer_.Drain(session);

  ASSERT_THAT(all, SizeIs(Script::kSamples / 4));
  std::set<uint64_t> places;
  for (uint64_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].ids.front(), 4 * i);
    EXPECT_EQ(all[i].seed, 7u);
    EXPECT_EQ(all[i].epoch, 0u);
    EXPECT_EQ(all[i].key_first, 4 * i);
    EXPECT_EQ(all[i].key_step, 1u);
    places.insert(all[i].place);
  }
  EXPECT_EQ(places.size(), 2u);
  EXPECT_THAT(HowOftenMade(), Each(1u));
  EXPECT_EQ(trainer_.hosts(), 1u);
}

TEST_F(MadeBatchesTest, TheNextSessionFindsAHostThatIsKeptAndNoOther) {
  for (const bool keep : {true, false}) {
    const uint32_t before = trainer_.hosts();
    SessionOptions options = trainer_.Options();
    options.python->keep_workers = keep;
    for (int epoch = 0; epoch < 3; ++epoch) {
      Session session = trainer_.Open(options);
      EXPECT_THAT(trainer_.Drain(session), SizeIs(Script::kSamples / 4));
    }
    // The first one of those that are not kept is the kept one.
    EXPECT_EQ(trainer_.hosts() - before, keep ? 1u : 2u);
  }
}

TEST_F(MadeBatchesTest, TrainersShareTheirBatches) {
  PythonTrainer other(daemon_.address(), script_);
  Session first = trainer_.Open(trainer_.Options()), second = other.Open(other.Options());
  for (uint64_t i = 0; i < Script::kSamples / 4; ++i) {
    const Result<Batch> ours = trainer_.Next(first), theirs = other.Next(second);
    ASSERT_TRUE(ours.ok()) << ours.status().ToString();
    ASSERT_TRUE(theirs.ok()) << theirs.status().ToString();
    EXPECT_EQ(Read(*ours).ids, Read(*theirs).ids);
  }

  EXPECT_THAT(HowOftenMade(), Each(1u));
  EXPECT_EQ(trainer_.hosts() + other.hosts(), 1u);
}

TEST_F(MadeBatchesTest, ABatchGetsTheRoomThatItNeeds) {
  script_.extra_bytes = 5'000'000;
  Session session = trainer_.Open(trainer_.Options());

  const std::vector<MadeContent> all = trainer_.Drain(session);

  ASSERT_THAT(all, SizeIs(Script::kSamples / 4));
  for (const MadeContent& content : all) EXPECT_GT(content.bytes, 5'000'000u);
}

TEST_F(MadeBatchesTest, AnExceptionComesInPlaceOfItsBatchAndIsNotKept) {
  script_.raise_at = 9;
  for (int epoch = 0; epoch < 2; ++epoch) {
    Session session = trainer_.Open(trainer_.Options());
    const std::vector<MadeContent> all = trainer_.Drain(session);
    ASSERT_THAT(all, SizeIs(Script::kSamples / 4));
    for (uint64_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].raised, i == 2 ? 1u : 0u);
  }
  EXPECT_EQ(script_.made[9], 2u);
}

TEST_F(MadeBatchesTest, AStreamIsMadeByTheWorkerAtItsPlace) {
  SessionOptions options = trainer_.Options(/*batch_size=*/1);
  options.python->streams = 2;
  Session session = trainer_.Open(options);

  const std::vector<MadeContent> all = trainer_.Drain(session);

  ASSERT_THAT(all, SizeIs(Script::kSamples));
  for (uint64_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].place, i % 2);
}

TEST(NativeWorkersTest, OnlyTheDaemonsOwnSampleStartsOne) {
  DaemonProcess daemon({.workers = 4});
  PythonTrainer trainer(daemon.address(), Script::Shared());
  Session session = trainer.Open(trainer.Options());

  trainer.Drain(session);

  EXPECT_LE(daemon.WorkerPids().size(), 1u);
}

TEST_F(MadeBatchesTest, ASystemDaemonHasNoPythonDatasets) {
  const std::string config =
      "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 16MiB}\n";
  DaemonProcess system({.config = config});
  PythonTrainer trainer(system.address(), script_);
  Client client = Client::Connect({.address = system.address()}).OrDie();

  EXPECT_FALSE(client.Open(trainer.Options()).ok());
}

TEST_F(MadeBatchesTest, OperatorsSeeThePythonWorkers) {
  Session session = trainer_.Open(trainer_.Options());
  trainer_.Drain(session);

  // One of them may have entered after all batches were made.
  v1::ListWorkersResponse all;
  ASSERT_TRUE(daemon_.Eventually([&] {
    all = daemon_.Workers();
    const auto& workers = all.python_workers();
    return workers.size() == 2 && std::all_of(workers.begin(), workers.end(), [](const auto& each) {
             return each.state() == "idle";
           });
  }));
  uint64_t batches = 0;
  for (const v1::PythonWorkerStatus& worker : all.python_workers()) {
    EXPECT_THAT(worker.dataset(), HasSubstr("python:id="));
    EXPECT_GT(worker.pid(), 0);
    EXPECT_GT(worker.host_pid(), 0);
    EXPECT_EQ(worker.restarts(), 0u);
    EXPECT_GT(worker.resident_bytes(), 0u);
    EXPECT_EQ(worker.last_end(), "");
    batches += worker.batches();
  }
  EXPECT_EQ(batches, Script::kSamples / 4);
}

}  // namespace
}  // namespace penstock::testing
