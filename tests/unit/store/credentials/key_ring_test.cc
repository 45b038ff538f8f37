// Renewing keys: by one thread, before they end, and when a store refuses them.
#include "server/store/credentials/key_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::store {
namespace {

using ::testing::HasSubstr;
using Kind = KeysFound::KeyKind;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Gives keys that are numbered by how often it was asked.
class NumberedSource final : public KeySource {
 public:
  absl::StatusOr<KeysFound> Fetch() override {
    if (++under_way_ > 1) overlapped = true;
    std::this_thread::sleep_for(takes);
    --under_way_;
    const int number = ++asked;
    const base::MutexLock lock(mutex);
    if (!trouble.ok()) return trouble;
    if (none) return KeysFound{nullptr, "no keys in the file", Kind::kAbsent};
    StoreKeys keys = {.key_id = absl::StrCat("key", same ? 1 : number), .secret = "hunter2"};
    if (lasts) keys.end = std::chrono::system_clock::now() + *lasts;
    return KeysFound{std::make_shared<const StoreKeys>(std::move(keys)), "the test", kind};
  }
  void SetTrouble(absl::Status status) {
    const base::MutexLock lock(mutex);
    trouble = std::move(status);
  }

  Kind kind = Kind::kServer;
  milliseconds takes{0};
  std::optional<milliseconds> lasts = {};
  bool same = false;
  std::atomic<bool> none{false};
  std::atomic<int> asked{0};
  std::atomic<bool> overlapped{false};

 private:
  base::Mutex mutex;
  absl::Status trouble PENSTOCK_GUARDED_BY(mutex);
  std::atomic<int> under_way_{0};
};

constexpr KeyRing::Options kQuick = {.ahead = seconds(5),
                                     .reread = milliseconds(50),
                                     .first_pause = milliseconds(20),
                                     .longest_pause = milliseconds(50),
                                     .between_refused = milliseconds(200),
                                     .patience = seconds(5)};

class KeyRingTest : public ::testing::Test {
 protected:
  void Start(const KeyRing::Options& options = kQuick) {
    auto source = std::make_unique<NumberedSource>();
    source_ = source.get();
    ring_.emplace(std::move(source), options, [this](const KeyRing::KeyNews&) { ++events_; });
  }
  std::string Id(const absl::StatusOr<SharedKeys>& keys) {
    if (!keys.ok()) return keys.status().ToString();
    return *keys == nullptr ? "none" : (*keys)->key_id;
  }
  // Waits for what a thread does at some time.
  template <typename Condition>
  bool Becomes(const Condition& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(5));
    return condition();
  }

  std::atomic<int> events_{0};
  NumberedSource* source_ = nullptr;
  std::optional<KeyRing> ring_;
};

TEST_F(KeyRingTest, KeysThatAreGoneWhileTheirFileIsWrittenAreUsedUntilThereAreOthers) {
  KeyRing::Options options = kQuick;
  options.reread = seconds(60);
  Start(options);
  source_->kind = Kind::kFile;
  EXPECT_EQ(Id(ring_->Get()), "key1");

  source_->none = true;
  ring_->Reread();
  EXPECT_EQ(Id(ring_->Get()), "key1");
  EXPECT_THAT(ring_->Describe(),
              HasSubstr("there were keys in a file before, and now: no keys in the"));

  source_->none = false;
  EXPECT_TRUE(Becomes([&] { return Id(ring_->Get()) != "key1"; }));
}

TEST_F(KeyRingTest, KeysThatStayGoneAreGone) {
  Start();
  source_->kind = Kind::kFile;
  EXPECT_EQ(Id(ring_->Get()), "key1");

  source_->none = true;
  EXPECT_TRUE(Becomes([&] { return Id(ring_->Get()) == "none"; }));
}

TEST_F(KeyRingTest, NobodyIsAskedBeforeKeysAreNeededAndThenOnce) {
  Start({});
  EXPECT_EQ(source_->asked, 0);

  EXPECT_EQ(Id(ring_->Get()), "key1");
  EXPECT_EQ(Id(ring_->Get()), "key1");

  EXPECT_EQ(source_->asked, 1);
  EXPECT_EQ(ring_->Describe(), "signed with the keys of the test");
}

TEST_F(KeyRingTest, ManyWhoNeedThemWaitForOneRenewal) {
  Start({});
  source_->takes = milliseconds(100);
  std::vector<std::thread> callers;
  std::atomic<int> got{0};
  for (int i = 0; i < 16; ++i)
    callers.emplace_back([&] { got += Id(ring_->Get()) == "key1" ? 1 : 0; });
  EXPECT_EQ(ring_->Peek(), std::nullopt) << "it never waits";
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(got, 16);
  EXPECT_EQ(source_->asked, 1);
}

TEST_F(KeyRingTest, KeysAreRenewedBeforeTheyEndAndPeekNeverMissesThem) {
  Start();
  source_->lasts = milliseconds(800);
  ASSERT_EQ(Id(ring_->Get()), "key1");
  const base::TimePoint until = base::Now() + seconds(2);
  int missed = 0;
  while (base::Now() < until) {
    if (!ring_->Peek()) ++missed;
    std::this_thread::sleep_for(milliseconds(1));
  }

  EXPECT_EQ(missed, 0);
  EXPECT_GE(source_->asked, 3);
  EXPECT_LE(source_->asked, 8);
  EXPECT_FALSE(source_->overlapped);
}

TEST_F(KeyRingTest, WhileRenewingFailsOldKeysAreUsedUntilTheyEndAndThenItsReasonIsSaid) {
  Start();
  source_->lasts = milliseconds(1000);
  ASSERT_EQ(Id(ring_->Get()), "key1");
  source_->SetTrouble(absl::UnavailableError("no route"));
  ASSERT_TRUE(Becomes([&] { return source_->asked >= 2; }));

  EXPECT_EQ(Id(ring_->Get()), "key1");
  EXPECT_THAT(ring_->Describe(), HasSubstr("renewing them failed: no route"));
  EXPECT_TRUE(Becomes([&] { return !ring_->Peek(); }));
  EXPECT_EQ(Id(ring_->Get()), "UNAVAILABLE: no route");
  EXPECT_LE(source_->asked, 40) << "there are pauses";

  source_->SetTrouble(absl::OkStatus());
  EXPECT_TRUE(Becomes([&] { return ring_->Peek().has_value(); }));
  EXPECT_EQ(ring_->Describe(), "signed with the keys of the test");
}

TEST_F(KeyRingTest, RefusedKeysAreRenewedOnceForAllWhoUseThem) {
  Start();
  source_->lasts = seconds(3600);
  source_->takes = milliseconds(50);
  const SharedKeys old = *ring_->Get();
  std::vector<std::thread> callers;
  std::atomic<int> renewed{0};
  for (int i = 0; i < 8; ++i) callers.emplace_back([&] { renewed += ring_->Renew(old) ? 1 : 0; });
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(renewed, 8);
  EXPECT_EQ(Id(ring_->Get()), "key2");
  EXPECT_EQ(source_->asked, 2);
}

TEST_F(KeyRingTest, AStoreThatRefusesTheSameKeysAgainAndAgainCostsFewRenewals) {
  Start({.between_refused = seconds(60)});
  source_->same = true;
  const SharedKeys keys = *ring_->Get();

  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ring_->Renew(keys));

  EXPECT_EQ(source_->asked, 2);
}

TEST_F(KeyRingTest, FixedKeysAreNeverAskedForAgain) {
  Start();
  source_->kind = Kind::kFixed;
  const SharedKeys keys = *ring_->Get();

  EXPECT_FALSE(ring_->CanRenew());
  EXPECT_FALSE(ring_->Renew(keys));
  ring_->RenewSoon();
  ring_->Reread();
  std::this_thread::sleep_for(kQuick.reread * 2);
  EXPECT_EQ(source_->asked, 1);
}

TEST_F(KeyRingTest, FilesAreReadAgainFromTimeToTimeAndOnDemand) {
  Start();
  source_->kind = Kind::kFile;
  ASSERT_EQ(Id(ring_->Get()), "key1");

  ring_->Reread();
  EXPECT_NE(Id(ring_->Get()), "key1");
  const int before = source_->asked;
  EXPECT_TRUE(Becomes([&] { return source_->asked > before + 1; }));
}

TEST_F(KeyRingTest, WhereThereAreNoneAnOpeningDoesNotLookForThemAgainButARefusalDoes) {
  Start();
  source_->kind = Kind::kAbsent;
  const SharedKeys none = *ring_->Get();

  ring_->Reread();
  EXPECT_EQ(source_->asked, 1);
  EXPECT_TRUE(ring_->Renew(none));
  EXPECT_EQ(source_->asked, 2);
}

TEST_F(KeyRingTest, AnErrorThatDoesNotPassIsSaidAtOnceAndOneThatMayAfterSomeTries) {
  Start();
  source_->SetTrouble(absl::FailedPreconditionError("a variable is wrong"));
  EXPECT_EQ(Id(ring_->Get()), "FAILED_PRECONDITION: a variable is wrong");
  EXPECT_EQ(source_->asked, 1);

  Start();
  source_->SetTrouble(absl::UnavailableError("no route"));
  EXPECT_EQ(Id(ring_->Get()), "UNAVAILABLE: no route");
  EXPECT_EQ(source_->asked, 3);
}

TEST_F(KeyRingTest, AClockThatIsAheadOfTheirEndDoesNotMakeKeysUseless) {
  Start();
  source_->lasts = -milliseconds(3'600'000);

  EXPECT_EQ(Id(ring_->Get()), "key1");
}

TEST_F(KeyRingTest, TheLogHearsOfNewKeysAndOfTheFirstOfManyTroubles) {
  Start();
  source_->same = true;
  source_->kind = Kind::kFile;
  ASSERT_TRUE(ring_->Get().ok());
  ASSERT_TRUE(Becomes([&] { return source_->asked >= 4; }));
  EXPECT_EQ(events_, 1) << "the same keys are no news";
  source_->SetTrouble(absl::UnavailableError("gone"));
  const int before = source_->asked;
  ASSERT_TRUE(Becomes([&] { return source_->asked >= before + 4; }));
  EXPECT_EQ(events_, 2);
}

TEST_F(KeyRingTest, StopEndsAllWaiting) {
  Start();
  source_->takes = milliseconds(300);
  std::thread caller([&] { EXPECT_TRUE(absl::IsCancelled(ring_->Get().status())); });
  ASSERT_TRUE(Becomes([&] { return ring_->CanRenew(); }));
  std::this_thread::sleep_for(milliseconds(50));

  ring_->Stop();
  caller.join();
  EXPECT_TRUE(absl::IsCancelled(ring_->Get().status()));
}

}  // namespace
}  // namespace penstock::store
