// The state directory while it doesn't respond, or is full.
#include "server/source/state/state_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/source/state/quarantine.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StateAccessTest : public ::testing::Test {
 protected:
  StateAccessTest() {
    options_.patience = milliseconds(100);
    options_.try_again = milliseconds(1);
    options_.write = [this](const std::string& path, absl::string_view text) {
      std::shared_future<void> gate;
      absl::Status answer;
      {
        const base::MutexLock lock(mutex_);
        gate = gate_;
        answer = answer_;
        ++tries_;
        begun_.NotifyAll();
      }
      if (gate.valid()) gate.wait();
      if (!answer.ok()) return answer;
      const base::MutexLock lock(mutex_);
      written_[path].push_back(std::string(text));
      return absl::OkStatus();
    };
  }
  // Makes all writes from now on block until the promise is fulfilled.
  std::promise<void> Hang() {
    std::promise<void> end;
    const base::MutexLock lock(mutex_);
    gate_ = end.get_future().share();
    return end;
  }
  void Answer(const absl::Status& status) {
    const base::MutexLock lock(mutex_);
    answer_ = status;
    gate_ = {};
  }
  void WaitForTries(int tries) {
    mutex_.lock();
    while (tries_ < tries) begun_.Wait(mutex_);
    mutex_.unlock();
  }
  StateAccess& access() {
    if (!access_) access_.emplace(options_);
    return *access_;
  }
  void End() { access_.reset(); }

  base::Mutex mutex_;
  base::CondVar begun_;
  std::shared_future<void> gate_;
  absl::Status answer_;
  int tries_ = 0;
  std::map<std::string, std::vector<std::string>> written_;
  StateAccess::Options options_;
  std::optional<StateAccess> access_;
};

TEST_F(StateAccessTest, WhileItHangsNobodyWaitsAndOfEachFileTheLastTextIsKept) {
  std::promise<void> end = Hang();
  EXPECT_TRUE(access().WriteLater("/s/a", "one").ok());
  WaitForTries(1);

  for (const char* text : {"two", "three", "four"})
    EXPECT_TRUE(access().WriteLater("/s/a", text).ok());
  EXPECT_TRUE(access().WriteLater("/s/b", "b").ok());
  EXPECT_EQ(access().Waiting("/s/a"), "four");
  Answer(absl::OkStatus());
  end.set_value();
  End();

  EXPECT_THAT(written_["/s/a"], ElementsAre("one", "four"));
  EXPECT_THAT(written_["/s/b"], ElementsAre("b"));
}

TEST_F(StateAccessTest, WhatWaitsIsBounded) {
  options_.most_files = 2;
  options_.most_bytes = 10;
  std::promise<void> end = Hang();
  EXPECT_TRUE(access().WriteLater("/s/a", "12345").ok());

  EXPECT_TRUE(absl::IsResourceExhausted(access().WriteLater("/s/b", "123456")));
  EXPECT_TRUE(access().WriteLater("/s/b", "12345").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(access().WriteLater("/s/c", "")));
  EXPECT_TRUE(access().WriteLater("/s/a", "54321").ok());  // replaces the first one
  Answer(absl::OkStatus());
  end.set_value();
}

TEST_F(StateAccessTest, WhatCannotBeWrittenIsSaidAndTriedAgain) {
  Answer(absl::ResourceExhaustedError("No space left on device"));
  EXPECT_TRUE(access().WriteLater("/s/a", "one").ok());
  WaitForTries(2);
  EXPECT_THAT(access().trouble(), HasSubstr("No space left on device"));

  Answer(absl::OkStatus());
  while (access().Waiting("/s/a")) std::this_thread::yield();

  EXPECT_THAT(access().trouble(), IsEmpty());
  EXPECT_THAT(written_["/s/a"], ElementsAre("one"));
}

TEST_F(StateAccessTest, TheEndTriesWhatIsLeftOnceMoreAndNoLonger) {
  options_.try_again = std::chrono::hours(1);
  Answer(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(access().WriteLater("/s/a", "one").ok());
  WaitForTries(1);
  End();
  EXPECT_GE(tries_, 1);
  EXPECT_LE(tries_, 2);
}

TEST_F(StateAccessTest, AJobThatDoesNotGoOnIsLeftBehindAndOthersAreToldAtOnceUntilItIsBack) {
  auto hung = std::make_shared<std::promise<void>>();
  const auto job = [gate = hung->get_future().share()](const Step&) -> absl::StatusOr<int> {
    gate.wait();
    return 1;
  };
  EXPECT_TRUE(absl::IsUnavailable(access().Ask<int>(job).status()));
  EXPECT_THAT(access().trouble(), HasSubstr("has not answered"));
  bool ran = false;
  EXPECT_TRUE(absl::IsUnavailable(access()
                                      .Ask<int>([&ran](const Step&) -> absl::StatusOr<int> {
                                        ran = true;
                                        return 2;
                                      })
                                      .status()));
  EXPECT_FALSE(ran);

  hung->set_value();
  while (!access().trouble().empty()) std::this_thread::yield();
  EXPECT_EQ(access().Ask<int>([](const Step&) -> absl::StatusOr<int> { return 3; }).value(), 3);
}

TEST_F(StateAccessTest, AJobThatGoesOnIsWaitedForHoweverLongItTakes) {
  options_.patience = milliseconds(300);
  const auto answer = access().Ask<int>([](const Step& step) -> absl::StatusOr<int> {
    for (int i = 0; i < 8; ++i) {
      step();
      std::this_thread::sleep_for(milliseconds(60));
    }
    return 7;
  });
  EXPECT_EQ(answer.value_or(0), 7);
}

// ---- The quarantine. ----

TEST_F(StateAccessTest, AQuarantineThatIsOpenedAnewKnowsWhatWaitsToBeWritten) {
  testing::TempFolder folder;
  const auto shared = std::make_shared<StateAccess>(options_);
  std::promise<void> end = Hang();
  auto first = Quarantine::Load(folder.path(), 7, 1, shared).quarantine;
  first.Add({.sample = 3, .path = "three", .fault = base::Fault::kTimeout});
  EXPECT_TRUE(first.Save().ok());
  EXPECT_TRUE(first.is_saved());

  const auto again = Quarantine::Load(folder.path(), 7, 1, shared);

  EXPECT_THAT(again.warning, IsEmpty());
  EXPECT_TRUE(again.quarantine.Contains(3));
  Answer(absl::OkStatus());
  end.set_value();
}

}  // namespace
}  // namespace penstock::source
