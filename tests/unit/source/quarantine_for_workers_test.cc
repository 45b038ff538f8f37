// Samples that a consumer's GPU could not decode: they are not bad for workers, and what one user
// reports holds for that user alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/state/quarantine.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using base::Fault;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kTheDataset = 0x0123456789abcdef;
constexpr int64_t kToday = 1'790'000'000'000;
constexpr uint32_t kCleo = 1001, kDora = 1002;
using Added = Quarantine::Added;

BadSample BadFor(uint64_t sample, Fault fault, std::vector<uint32_t> users = {kCleo}) {
  return {sample, "/data/a.jpg", fault, kToday, 1, 100 + sample, std::move(users)};
}

class ForWorkersTest : public ::testing::Test {
 protected:
  Quarantine Load() const { return Quarantine::Load(temp_.path(), kTheDataset, kToday).quarantine; }
  std::vector<std::pair<uint64_t, Fault>> Listed() const {
    std::vector<std::pair<uint64_t, Fault>> listed;
    for (const BadSample& bad : quarantine_.Entries()) listed.emplace_back(bad.sample, bad.fault);
    return listed;
  }

  penstock::testing::TempFolder temp_;
  Quarantine quarantine_ = Load();
};

TEST_F(ForWorkersTest, AReportHoldsForItsUserAndRaisesTheVersionOnce) {
  EXPECT_EQ(quarantine_.Add(BadFor(7, Fault::kNotByGpu)), Added::kNews);
  EXPECT_EQ(quarantine_.Add(BadFor(7, Fault::kNotByGpu)), Added::kKnown);

  EXPECT_TRUE(quarantine_.IsForWorkers(7, kCleo));
  EXPECT_FALSE(quarantine_.IsForWorkers(7, kDora));
  EXPECT_FALSE(quarantine_.IsForWorkers(8, kCleo));
  EXPECT_EQ(quarantine_.version(), 1u);
  EXPECT_EQ(quarantine_.Add(BadFor(7, Fault::kNotByGpu, {kDora})), Added::kNews);
  EXPECT_TRUE(quarantine_.IsForWorkers(7, kCleo) && quarantine_.IsForWorkers(7, kDora));
  EXPECT_EQ(quarantine_.version(), 2u);
}

TEST_F(ForWorkersTest, OneUserTakesOnlyItsPartOfTheList) {
  for (uint64_t sample = 0; sample < Quarantine::kMaxForWorkersOfUser; ++sample)
    ASSERT_EQ(quarantine_.Add(BadFor(sample, Fault::kNotByGpu)), Added::kNews);
  constexpr uint64_t kNext = Quarantine::kMaxForWorkersOfUser;

  EXPECT_EQ(quarantine_.Add(BadFor(kNext, Fault::kNotByGpu)), Added::kNoPlace);
  EXPECT_EQ(quarantine_.Add(BadFor(1, Fault::kNotByGpu)), Added::kKnown);
  EXPECT_EQ(quarantine_.Add(BadFor(kNext, Fault::kNotByGpu, {kDora})), Added::kNews);
  ASSERT_TRUE(quarantine_.Save().ok());
  Quarantine again = Load();
  EXPECT_EQ(again.Add(BadFor(kNext, Fault::kNotByGpu)), Added::kNoPlace);
  again.Clear();
  EXPECT_EQ(again.Add(BadFor(kNext, Fault::kNotByGpu)), Added::kNews);
}

TEST_F(ForWorkersTest, OnlyWhatIsSubstitutedHasAVersionForTheOtherFeeds) {
  const uint64_t before = quarantine_.substitutes_version();
  quarantine_.Add(BadFor(7, Fault::kNotByGpu));
  EXPECT_EQ(quarantine_.substitutes_version(), before);
  quarantine_.Add(BadFor(7, Fault::kTimeout));
  EXPECT_EQ(quarantine_.substitutes_version(), before + 1);
}

TEST_F(ForWorkersTest, AnEntryWithoutUsersHoldsForEverybody) {
  quarantine_.Add(BadFor(7, Fault::kNotByGpu, {}));

  EXPECT_TRUE(quarantine_.IsForWorkers(7, kCleo) && quarantine_.IsForWorkers(7, kDora));
}

TEST_F(ForWorkersTest, ItIsListedButNeitherRefusedNorQuarantined) {
  quarantine_.Add(BadFor(7, Fault::kNotByGpu));

  EXPECT_FALSE(quarantine_.Contains(7));
  EXPECT_EQ(quarantine_.Find(7), nullptr);
  EXPECT_EQ(quarantine_.refused() + quarantine_.quarantined(), 0u);
  EXPECT_EQ(quarantine_.samples(), 1u);
  EXPECT_THAT(Listed(), ElementsAre(Pair(7, Fault::kNotByGpu)));
  EXPECT_THAT(quarantine_.by_fault(), ElementsAre(Pair(Fault::kNotByGpu, 1)));
}

// Whatever comes first, workers decode the sample, and the list says what they found.
TEST_F(ForWorkersTest, ARefusedSampleIsForWorkersTooAndIsListedOnce) {
  quarantine_.Add(BadFor(3, Fault::kTruncated));
  EXPECT_EQ(quarantine_.version(), 0u);
  EXPECT_EQ(quarantine_.Add(BadFor(3, Fault::kNotByGpu)), Added::kNews);
  quarantine_.Add(BadFor(5, Fault::kNotByGpu));
  EXPECT_EQ(quarantine_.Add(BadFor(5, Fault::kCorrupt, {kDora})), Added::kNews);

  EXPECT_TRUE(quarantine_.IsForWorkers(3, kCleo) && quarantine_.IsForWorkers(5, kCleo));
  EXPECT_FALSE(quarantine_.IsForWorkers(5, kDora));
  EXPECT_EQ(quarantine_.version(), 2u);
  EXPECT_EQ(quarantine_.samples(), 2u);
  EXPECT_THAT(Listed(), ElementsAre(Pair(3, Fault::kTruncated), Pair(5, Fault::kCorrupt)));
  EXPECT_THAT(quarantine_.Entries(4, 10), ::testing::SizeIs(1));
}

TEST_F(ForWorkersTest, AQuarantinedSampleStaysSoAndOneForWorkersBecomesSo) {
  quarantine_.Add(BadFor(3, Fault::kTimeout));
  quarantine_.Add(BadFor(3, Fault::kNotByGpu, {kDora}));
  quarantine_.Add(BadFor(5, Fault::kNotByGpu));
  EXPECT_EQ(quarantine_.Add(BadFor(5, Fault::kWorkerCrashed)), Added::kNews);

  EXPECT_TRUE(quarantine_.Contains(3, kCleo) && quarantine_.Contains(5, kCleo));
  EXPECT_FALSE(quarantine_.Contains(3, kDora));
  EXPECT_TRUE(quarantine_.IsForWorkers(3, kDora));
  EXPECT_EQ(quarantine_.version(), 4u);
  EXPECT_THAT(Listed(), ElementsAre(Pair(3, Fault::kTimeout), Pair(5, Fault::kWorkerCrashed)));
}

TEST_F(ForWorkersTest, AllEntriesOfASampleComeBackFromTheFile) {
  quarantine_.Add(BadFor(3, Fault::kTruncated, {kDora}));
  quarantine_.Add(BadFor(3, Fault::kNotByGpu));
  quarantine_.Add(BadFor(9, Fault::kTimeout));
  quarantine_.Add(BadFor(9, Fault::kNotByGpu));
  quarantine_.Add(BadFor(5, Fault::kNotByGpu));
  ASSERT_TRUE(quarantine_.Save().ok());

  const Quarantine again = Load();

  EXPECT_EQ(again.version(), quarantine_.version());
  EXPECT_EQ(again.samples(), 3u);
  EXPECT_EQ(again.by_fault(), quarantine_.by_fault());
  EXPECT_EQ(again.Find(3)->users, std::vector{kDora});
  EXPECT_TRUE(again.Contains(9, kCleo));
  for (const uint64_t sample : {3, 5, 9}) {
    EXPECT_TRUE(again.IsForWorkers(sample, kCleo)) << sample;
    EXPECT_FALSE(again.IsForWorkers(sample, kDora)) << sample;
  }
}

TEST_F(ForWorkersTest, AChangedFileIsGivenToTheGpuAgainUnderANewVersion) {
  for (const uint64_t sample : {3, 5}) quarantine_.Add(BadFor(sample, Fault::kNotByGpu));
  quarantine_.Add(BadFor(5, Fault::kTruncated));

  EXPECT_EQ(quarantine_.ForgetOthers([](uint64_t sample) { return 100 + sample; }), 0u);
  EXPECT_EQ(quarantine_.version(), 2u);
  EXPECT_EQ(quarantine_.ForgetOthers([](uint64_t sample) { return sample == 3 ? 103u : 1u; }), 1u);

  EXPECT_EQ(quarantine_.version(), 3u);
  EXPECT_TRUE(quarantine_.IsForWorkers(3, kCleo));
  EXPECT_FALSE(quarantine_.IsForWorkers(5, kCleo));
  EXPECT_EQ(quarantine_.samples(), 1u);
}

TEST_F(ForWorkersTest, AClearForgetsThemUnderANewVersion) {
  quarantine_.Add(BadFor(3, Fault::kNotByGpu));
  quarantine_.Add(BadFor(3, Fault::kTruncated));

  EXPECT_EQ(quarantine_.Clear(), 1u);

  EXPECT_EQ(quarantine_.version(), 2u);
  EXPECT_FALSE(quarantine_.IsForWorkers(3, kCleo));
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(quarantine_.samples(), 0u);
}

TEST_F(ForWorkersTest, TheListIsBoundedAndLeavesPlaceForOthers) {
  for (uint64_t i = 0; i < Quarantine::kMaxForWorkers; ++i) {
    const auto user = static_cast<uint32_t>(4000 + i / Quarantine::kMaxForWorkersOfUser);
    ASSERT_EQ(quarantine_.Add(BadFor(i, Fault::kNotByGpu, {user})), Added::kNews);
  }
  const uint64_t version = quarantine_.version();

  EXPECT_EQ(quarantine_.Add(BadFor(1'000'000, Fault::kNotByGpu)), Added::kNoPlace);
  EXPECT_EQ(quarantine_.version(), version);
  EXPECT_EQ(quarantine_.Add(BadFor(1'000'000, Fault::kTruncated)), Added::kNews);
  EXPECT_EQ(quarantine_.Add(BadFor(2'000'000, Fault::kTimeout)), Added::kNews);
}

}  // namespace
}  // namespace penstock::source
