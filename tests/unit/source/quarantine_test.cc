#include "server/source/state/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/state/quarantine_text.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using base::Fault;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kDigest = 0x0123456789abcdef;
constexpr int64_t kNow = 1'790'000'000'000;
constexpr char kFile[] = "quarantine/0123456789abcdef.quarantine";

BadSample Bad(uint64_t sample, Fault fault) {
  return {sample, "/data/cats/" + std::to_string(sample) + ".jpg", fault, kNow, 2};
}

std::vector<uint64_t> SamplesOf(const Quarantine& quarantine) {
  std::vector<uint64_t> samples;
  for (const BadSample& bad : quarantine.Entries()) samples.push_back(bad.sample);
  return samples;
}

class QuarantineTest : public ::testing::Test {
 protected:
  Quarantine::Loaded Load() const { return Quarantine::Load(temp_.path(), kDigest, kNow); }

  // Saves one quarantined and one refused sample, which makes the version 1.
  void SaveTwo() const {
    Quarantine quarantine = Load().quarantine;
    quarantine.Add(Bad(7, Fault::kWorkerCrashed));
    quarantine.Add(Bad(3, Fault::kTruncated));
    ASSERT_TRUE(quarantine.Save().ok());
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(QuarantineTest, BadSamplesOfBothKindsAreFoundAndOthersAreNot) {
  Quarantine quarantine;
  quarantine.Add({.sample = 3, .path = "three", .fault = base::Fault::kTruncated});
  quarantine.Add({.sample = 4, .path = "four", .fault = base::Fault::kTimeout});

  EXPECT_EQ(quarantine.Find(5), nullptr);
  EXPECT_EQ(quarantine.Find(3)->fault, base::Fault::kTruncated);
  EXPECT_EQ(quarantine.Find(4)->path, "four");
}

// A user's worker may lie, which must not change another user's rows.
TEST_F(QuarantineTest, WhatOneUsersWorkerSaysHoldsForThatUserAloneAlsoFromTheFile) {
  constexpr uint32_t kAnna = 1001, kBerta = 1000;
  Quarantine quarantine = Load().quarantine;
  BadSample bad = Bad(7, Fault::kWorkerCrashed);
  bad.users = {kAnna};

  EXPECT_EQ(quarantine.Add(bad), Quarantine::Added::kNews);
  EXPECT_TRUE(quarantine.Contains(7, kAnna));
  EXPECT_FALSE(quarantine.Contains(7, kBerta));
  EXPECT_EQ(quarantine.Add(bad), Quarantine::Added::kKnown);
  EXPECT_EQ(quarantine.version(), 1u);

  bad.users = {kBerta};
  EXPECT_EQ(quarantine.Add(bad), Quarantine::Added::kNews);
  EXPECT_EQ(quarantine.version(), 2u);
  EXPECT_EQ(quarantine.quarantined(), 1u);
  ASSERT_TRUE(quarantine.Save().ok());
  const Quarantine again = Load().quarantine;
  EXPECT_TRUE(again.Contains(7, kAnna) && again.Contains(7, kBerta));
  EXPECT_FALSE(again.Contains(7, 1002));
}

TEST_F(QuarantineTest, AnEntryHasOnlySoManyUsers) {
  Quarantine quarantine;
  BadSample bad = Bad(7, Fault::kTimeout);
  for (uint32_t user = 0; user < Quarantine::kMaxUsers; ++user) {
    bad.users = {user};
    EXPECT_EQ(quarantine.Add(bad), Quarantine::Added::kNews);
  }
  bad.users = {5000};
  EXPECT_EQ(quarantine.Add(bad), Quarantine::Added::kNoPlace);
  EXPECT_FALSE(quarantine.Contains(7, 5000));
}

TEST_F(QuarantineTest, EntriesAreBothKindsBySampleFromAnyOneOnAndNoMoreThanAskedFor) {
  Quarantine quarantine;
  for (uint64_t sample : {9, 1, 5}) quarantine.Add(Bad(sample, Fault::kTruncated));
  for (uint64_t sample : {7, 3}) quarantine.Add(Bad(sample, Fault::kTimeout));
  const auto from = [&](uint64_t first, size_t at_most) {
    std::vector<uint64_t> samples;
    for (const BadSample& bad : quarantine.Entries(first, at_most)) samples.push_back(bad.sample);
    return samples;
  };

  EXPECT_THAT(from(0, 100), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(from(4, 2), ElementsAre(5, 7));
  EXPECT_THAT(from(7, 2), ElementsAre(7, 9));
  EXPECT_THAT(from(10, 2), IsEmpty());
  EXPECT_THAT(from(0, 0), IsEmpty());
}

TEST_F(QuarantineTest, EveryDamagedByteIsNoticedMovedAsideAndLeavesANewVersion) {
  SaveTwo();
  const std::string whole = temp_.Read(kFile);

  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    temp_.Write(kFile, damaged);

    const auto loaded = Load();

    ASSERT_THAT(loaded.warning, HasSubstr("damaged")) << "byte " << at;
    EXPECT_EQ(loaded.quarantine.quarantined(), 0u);
    EXPECT_EQ(loaded.quarantine.version(), static_cast<uint64_t>(kNow));
    EXPECT_EQ(temp_.Read(std::string(kFile) + ".damaged"), damaged);
  }
}

TEST_F(QuarantineTest, AFileCutAnywhereIsDamaged) {
  SaveTwo();
  const std::string whole = temp_.Read(kFile);

  for (size_t bytes = 0; bytes < whole.size(); bytes += 3) {
    temp_.Write(kFile, whole.substr(0, bytes));
    EXPECT_THAT(Load().warning, HasSubstr("damaged")) << bytes << " bytes";
  }
}

TEST_F(QuarantineTest, AFileOfAnotherVersionIsKeptAsideAndSaid) {
  const std::string later = "penstock-quarantine 4\nwho knows\n";
  temp_.Write(kFile, later);

  const auto loaded = Load();

  EXPECT_THAT(loaded.warning, AllOf(HasSubstr("has version '4', wanted 3"), HasSubstr("moved to")));
  EXPECT_EQ(loaded.quarantine.version(), static_cast<uint64_t>(kNow));
  EXPECT_EQ(temp_.Read(std::string(kFile) + ".damaged"), later);
}

TEST_F(QuarantineTest, TheVersionAfterDamageLasts) {
  temp_.Write(kFile, "rubbish");
  ASSERT_THAT(Load().warning, HasSubstr("damaged"));

  const auto again = Quarantine::Load(temp_.path(), kDigest, kNow + 1);

  EXPECT_THAT(again.warning, IsEmpty());
  EXPECT_EQ(again.quarantine.version(), static_cast<uint64_t>(kNow));
}

TEST_F(QuarantineTest, AnotherDatasetsFileIsNotTaken) {
  temp_.Write(kFile, FormatQuarantine({kDigest + 1, 4, {}}));

  EXPECT_THAT(Load().warning, HasSubstr("another dataset"));
}

TEST_F(QuarantineTest, DatasetsThatLookAlikeHaveQuarantinesOfTheirOwn) {
  EXPECT_EQ(Quarantine::NumberOf(7, "/data/a"), Quarantine::NumberOf(7, "/data/a"));
  EXPECT_NE(Quarantine::NumberOf(7, "/data/a"), Quarantine::NumberOf(7, "/data/b"));
  EXPECT_NE(Quarantine::NumberOf(7, "/data/a"), Quarantine::NumberOf(8, "/data/a"));
}

TEST_F(QuarantineTest, ASampleWhoseFileIsAnotherOneNowIsForgotten) {
  auto loaded = Load();
  for (uint64_t sample : {1, 2, 3}) {
    BadSample bad = Bad(sample, sample == 3 ? Fault::kCorrupt : Fault::kTimeout);
    bad.stamp = 100 + sample;
    loaded.quarantine.Add(bad);
  }
  ASSERT_TRUE(loaded.quarantine.Save().ok());
  auto again = Load();
  const uint64_t version = again.quarantine.version();

  EXPECT_EQ(again.quarantine.ForgetOthers([](uint64_t sample) { return 100 + sample; }), 0u);
  EXPECT_EQ(again.quarantine.version(), version);
  EXPECT_EQ(again.quarantine.ForgetOthers([](uint64_t sample) { return sample == 1 ? 101u : 7u; }),
            2u);

  EXPECT_TRUE(again.quarantine.Contains(1));
  EXPECT_FALSE(again.quarantine.Contains(2));
  EXPECT_EQ(again.quarantine.refused(), 0u);
  EXPECT_GT(again.quarantine.version(), version);
}

TEST_F(QuarantineTest, AFileThatCannotBeReadStaysAsItIs) {
  SaveTwo();
  const std::string whole = temp_.Read(kFile);
  std::filesystem::permissions(temp_.At("quarantine"), std::filesystem::perms::none);

  {
    const penstock::testing::WithoutPrivileges nobody;
    auto loaded = Load();
    EXPECT_THAT(loaded.warning, HasSubstr("Permission denied"));
    EXPECT_EQ(loaded.quarantine.version(), static_cast<uint64_t>(kNow));
    loaded.quarantine.Add(Bad(9, Fault::kTimeout));
    EXPECT_TRUE(loaded.quarantine.Save().ok());
  }

  std::filesystem::permissions(temp_.At("quarantine"), std::filesystem::perms::owner_all);
  EXPECT_EQ(temp_.Read(kFile), whole);
}

TEST_F(QuarantineTest, WhatCannotBeSavedStaysInMemoryAndIsTriedAgain) {
  ASSERT_EQ(::chmod(temp_.path().c_str(), 0555), 0);
  Quarantine quarantine;
  {
    const penstock::testing::WithoutPrivileges nobody;
    quarantine = Load().quarantine;
    quarantine.Add(Bad(7, Fault::kTimeout));
    EXPECT_FALSE(quarantine.Save().ok());
  }
  EXPECT_TRUE(quarantine.Contains(7));
  EXPECT_FALSE(quarantine.is_saved());

  ASSERT_EQ(::chmod(temp_.path().c_str(), 0755), 0);
  EXPECT_TRUE(quarantine.Save().ok());

  EXPECT_TRUE(Load().quarantine.Contains(7));
}

TEST_F(QuarantineTest, TheListsAreBounded) {
  Quarantine quarantine;
  for (uint64_t i = 0; i < Quarantine::kMaxRefused; ++i)
    ASSERT_EQ(quarantine.Add(Bad(i, Fault::kCorrupt)), Quarantine::Added::kNews);

  EXPECT_EQ(quarantine.Add(Bad(1'000'000, Fault::kCorrupt)), Quarantine::Added::kNoPlace);
  EXPECT_EQ(quarantine.refused(), Quarantine::kMaxRefused);
  EXPECT_EQ(quarantine.Add(Bad(1'000'000, Fault::kTimeout)), Quarantine::Added::kNews);
}

TEST_F(QuarantineTest, AQuarantinedSampleIsNotRefusedAgain) {
  Quarantine quarantine;
  quarantine.Add(Bad(7, Fault::kTimeout));

  EXPECT_EQ(quarantine.Add(Bad(7, Fault::kCorrupt)), Quarantine::Added::kKnown);
  EXPECT_EQ(quarantine.Add(Bad(7, Fault::kWorkerCrashed)), Quarantine::Added::kKnown);
  EXPECT_EQ(quarantine.version(), 1u);
}

TEST_F(QuarantineTest, RefusedSamplesAreReportedOnceButNotKeptFromWorkers) {
  Quarantine quarantine;

  EXPECT_EQ(quarantine.Add(Bad(3, Fault::kCorrupt)), Quarantine::Added::kNews);
  EXPECT_EQ(quarantine.Add(Bad(3, Fault::kTruncated)), Quarantine::Added::kKnown);

  EXPECT_FALSE(quarantine.Contains(3));
  EXPECT_EQ(quarantine.version(), 0u);
  EXPECT_THAT(SamplesOf(quarantine), ::testing::ElementsAre(3));
}

TEST_F(QuarantineTest, ARefusedSampleThatCrashesAWorkerMovesToTheQuarantine) {
  Quarantine quarantine;
  quarantine.Add(Bad(3, Fault::kCorrupt));

  EXPECT_EQ(quarantine.Add(Bad(3, Fault::kWorkerCrashed)), Quarantine::Added::kNews);

  EXPECT_TRUE(quarantine.Contains(3));
  EXPECT_EQ(quarantine.refused(), 0u);
  EXPECT_EQ(quarantine.version(), 1u);
}

TEST_F(QuarantineTest, SamplesAreCountedByTheReasonThatTheyHaveNowAlsoAfterARestart) {
  Quarantine quarantine = Load().quarantine;
  quarantine.Add(Bad(1, Fault::kTruncated));
  quarantine.Add(Bad(2, Fault::kTruncated));
  quarantine.Add(Bad(3, Fault::kTimeout));
  quarantine.Add(Bad(2, Fault::kTimeout));
  quarantine.Add(Bad(2, Fault::kTruncated));  // nothing new
  const std::map<Fault, size_t> wanted = {{Fault::kTruncated, 1}, {Fault::kTimeout, 2}};

  EXPECT_EQ(quarantine.by_fault(), wanted);

  ASSERT_TRUE(quarantine.Save().ok());
  EXPECT_EQ(Load().quarantine.by_fault(), wanted);
  quarantine.Clear();
  EXPECT_THAT(quarantine.by_fault(), IsEmpty());
}

TEST_F(QuarantineTest, EachQuarantinedSampleAndAClearRaiseTheVersion) {
  Quarantine quarantine;
  quarantine.Add(Bad(1, Fault::kTimeout));
  quarantine.Add(Bad(2, Fault::kWorkerCrashed));
  EXPECT_EQ(quarantine.version(), 2u);

  EXPECT_EQ(quarantine.Clear(), 2u);

  EXPECT_EQ(quarantine.version(), 3u);
  EXPECT_FALSE(quarantine.Contains(1));
  EXPECT_THAT(quarantine.Entries(), IsEmpty());
}

// Batches in which another sample stands in may still be in their slots.
TEST_F(QuarantineTest, AClearOfRefusedSamplesRaisesTheVersionAndOneOfNothingKeepsIt) {
  Quarantine quarantine;
  quarantine.Add(Bad(1, Fault::kEmpty));

  EXPECT_EQ(quarantine.Clear(), 1u);
  EXPECT_EQ(quarantine.version(), 1u);
  EXPECT_EQ(quarantine.Clear(), 0u);

  EXPECT_EQ(quarantine.version(), 1u);
}

TEST_F(QuarantineTest, EntriesComeBySampleWhateverTheirKind) {
  Quarantine quarantine;
  for (uint64_t sample : {9, 1, 4}) quarantine.Add(Bad(sample, Fault::kTimeout));
  for (uint64_t sample : {10, 0, 3}) quarantine.Add(Bad(sample, Fault::kEmpty));

  EXPECT_THAT(SamplesOf(quarantine), ::testing::ElementsAre(0, 1, 3, 4, 9, 10));
}

TEST_F(QuarantineTest, WhatWasSavedComesBackWithItsVersionAndAwkwardPaths) {
  BadSample awkward = Bad(11, Fault::kTimeout);
  awkward.path = "/data/two\nlines \"quoted\" \\ \xff é checksum 0";
  Quarantine quarantine = Load().quarantine;
  quarantine.Add(awkward);
  quarantine.Add(Bad(3, Fault::kTooManyPixels));
  ASSERT_TRUE(quarantine.Save().ok());
  ASSERT_TRUE(quarantine.is_saved());

  const auto loaded = Load();

  EXPECT_THAT(loaded.warning, IsEmpty());
  EXPECT_EQ(loaded.quarantine.version(), 1u);
  ASSERT_EQ(loaded.quarantine.Entries().size(), 2u);
  const BadSample back = loaded.quarantine.Entries()[1];
  EXPECT_EQ(back.sample, 11u);
  EXPECT_EQ(back.path, awkward.path);
  EXPECT_EQ(back.fault, Fault::kTimeout);
  EXPECT_EQ(back.time_unix_ms, kNow);
  EXPECT_EQ(back.attempts, 2u);
}

TEST_F(QuarantineTest, AClearedQuarantineKeepsItsVersionOverARestart) {
  SaveTwo();
  Quarantine quarantine = Load().quarantine;
  quarantine.Clear();
  ASSERT_TRUE(quarantine.Save().ok());

  EXPECT_EQ(Load().quarantine.version(), 2u);
}

TEST_F(QuarantineTest, WithoutAStateFolderNothingIsWritten) {
  auto loaded = Quarantine::Load("", kDigest, kNow);
  loaded.quarantine.Add(Bad(1, Fault::kTimeout));

  EXPECT_TRUE(loaded.quarantine.Save().ok());
  EXPECT_THAT(loaded.warning, IsEmpty());
}

TEST_F(QuarantineTest, TheFileIsTheOwnersAlone) {
  SaveTwo();

  struct stat stat {};
  ASSERT_EQ(::stat(temp_.At(kFile).c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace penstock::source
