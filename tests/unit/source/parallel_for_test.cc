#include "server/source/files/parallel_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

namespace penstock::source {
namespace {

TEST(ParallelForTest, TheFirstErrorEndsTheWork) {
  std::atomic<size_t> done{0};

  const auto status = ParallelFor{2, {}}.ForEach(1'000'000, [&](size_t i) {
    ++done;
    return i == 3 ? absl::DataLossError("three") : absl::OkStatus();
  });

  EXPECT_EQ(status, absl::DataLossError("three"));
  EXPECT_LT(done, 1'000'000u);
}

TEST(ParallelForTest, AWatchThatSaysNoCancels) {
  std::atomic<bool> asked{false};

  const auto status = ParallelFor{
      2, [&] {
        asked = true;
        return false;
      }}.ForEach(SIZE_MAX / 2, [](size_t) { return absl::OkStatus(); });

  EXPECT_TRUE(asked);
  EXPECT_TRUE(absl::IsCancelled(status));
}

TEST(ParallelForTest, NothingToDoIsDoneAtOnce) {
  const ParallelFor parallel_for{4, {}};

  EXPECT_TRUE(parallel_for.ForEach(0, [](size_t) { return absl::InternalError("called"); }).ok());
}

// Threads whose stacks are larger than any address space can't be started.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t none = before_;
    pthread_attr_setstacksize(&none, size_t{1} << 50);
    pthread_setattr_default_np(&none);
  }
  ~NoMoreThreads() { pthread_setattr_default_np(&before_); }

 private:
  pthread_attr_t before_;
};

TEST(ParallelForTest, WithoutAThreadItIsRefusedInWords) {
  const NoMoreThreads none;

  const auto status = ParallelFor{2, {}}.ForEach(3, [](size_t) { return absl::OkStatus(); });

  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("limit on threads"));
}

TEST(ParallelForTest, EachIndexIsWorkedOnOnceWhateverTheThreads) {
  for (size_t threads : {0, 1, 3, 64}) {
    std::vector<std::atomic<int>> visits(500);
    const ParallelFor parallel_for{threads, {}};

    const auto status = parallel_for.ForEach(visits.size(), [&](size_t i) {
      ++visits[i];
      return absl::OkStatus();
    });

    EXPECT_TRUE(status.ok());
    for (const auto& visit : visits) EXPECT_EQ(visit, 1);
  }
}

}  // namespace
}  // namespace penstock::source
