// Job queues: which waiting jobs hold up which others.
#include "server/app/catalog/desks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace penstock::app {
namespace {

constexpr uint64_t kAnna = 1000, kBen = 2000;

class DesksTest : public ::testing::Test {
 protected:
  ~DesksTest() override {
    if (!storage_is_back_) StorageComesBack();
    desks_.Stop();
  }

  // Occupies the desk, and one of the user's threads, until StorageComesBack.
  void Hang(const std::string& desk, uint64_t user) {
    std::promise<void> begun;
    ASSERT_TRUE(desks_
                    .Do(desk, user,
                        [this, &begun] {
                          begun.set_value();
                          back_.wait();
                        })
                    .ok());
    begun.get_future().wait();
  }
  void StorageComesBack() {
    storage_is_back_ = true;
    storage_.set_value();
  }

  std::future<void> Do(const std::string& desk, uint64_t user, const std::string& name) {
    const auto done = std::make_shared<std::promise<void>>();
    const absl::Status taken = desks_.Do(desk, user, [this, done, name] {
      {
        const base::MutexLock lock(mutex_);
        ran_.push_back(name);
      }
      done->set_value();
    });
    EXPECT_TRUE(taken.ok()) << taken;
    return done->get_future();
  }
  std::vector<std::string> ran() {
    const base::MutexLock lock(mutex_);
    return ran_;
  }
  static bool Comes(const std::future<void>& done) {
    return done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }

  std::promise<void> storage_;
  const std::shared_future<void> back_{storage_.get_future()};
  bool storage_is_back_ = false;
  base::Mutex mutex_;
  std::vector<std::string> ran_ PENSTOCK_GUARDED_BY(mutex_);
  Desks desks_{{.most_threads = 8, .most_of_a_user = 2}};
};

TEST_F(DesksTest, AJobThatWaitsForItsUsersLimitHoldsUpNoOtherUserAtItsDesk) {
  Hang("silent", kAnna);
  Hang("silent too", kAnna);
  const std::future<void> annas = Do("good", kAnna, "Anna's");

  EXPECT_TRUE(Comes(Do("good", kBen, "Ben's first")));
  EXPECT_TRUE(Comes(Do("good", kBen, "Ben's second")));

  EXPECT_EQ(ran(), (std::vector<std::string>{"Ben's first", "Ben's second"}));
  StorageComesBack();
  EXPECT_TRUE(Comes(annas));
}

TEST_F(DesksTest, AUsersJobsKeepTheirOrderAtADesk) {
  Hang("silent", kAnna);
  Hang("good", kAnna);
  const std::future<void> first = Do("good", kAnna, "first"), second = Do("good", kAnna, "second"),
                          third = Do("good", kAnna, "third");
  StorageComesBack();

  EXPECT_TRUE(Comes(third));
  EXPECT_EQ(ran(), (std::vector<std::string>{"first", "second", "third"}));
}

TEST_F(DesksTest, ABusyDeskHoldsUpAllWhoWaitForItInTheirOrder) {
  Hang("good", kAnna);
  const std::future<void> annas = Do("good", kAnna, "Anna's"), bens = Do("good", kBen, "Ben's");
  EXPECT_TRUE(Comes(Do("other", kBen, "elsewhere")));
  StorageComesBack();

  EXPECT_TRUE(Comes(bens));
  EXPECT_EQ(ran(), (std::vector<std::string>{"elsewhere", "Anna's", "Ben's"}));
}

}  // namespace
}  // namespace penstock::app
