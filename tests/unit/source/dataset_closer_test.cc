// Tests who closes a dataset, and that its last owner does not wait.
#include "server/source/core/dataset_closer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "server/source/core/synthetic.h"
#include "tests/support/fakes/fake_dataset.h"

namespace penstock::source {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Calls `closing` when it is closed.
std::unique_ptr<const Dataset> DatasetThat(std::function<void()> closing) {
  const std::shared_ptr<void> last(nullptr, [closing = std::move(closing)](void*) { closing(); });
  return std::make_unique<testing::FakeDataset>(
      1, [last](uint64_t) { return testing::FakeDataset::Bytes(); });
}

bool Wanted() { return true; }

class DatasetCloserTest : public ::testing::Test {
 protected:
  static constexpr size_t kMost = 3;
  static constexpr std::chrono::milliseconds kSoon{1};

  std::promise<void> answer_;
  const std::shared_future<void> answered_ = answer_.get_future().share();
  // Last, so that its threads end before what they wait for.
  const std::shared_ptr<DatasetCloser> closer_ = std::make_shared<DatasetCloser>(kMost);
};

TEST_F(DatasetCloserTest, ItsLastOwnerDoesNotWaitForStorageThatDoesNotAnswer) {
  std::promise<std::thread::id> closed;
  auto dataset = closer_->Share(DatasetThat([this, &closed] {
    answered_.wait();
    closed.set_value(std::this_thread::get_id());
  }));
  auto another = dataset;
  dataset.reset();
  EXPECT_EQ(another->samples(), 1u);

  another.reset();

  answer_.set_value();
  EXPECT_NE(closed.get_future().get(), std::this_thread::get_id());
  closer_->Stop();  // before `closed` ends
}

TEST_F(DatasetCloserTest, NoneIsOpenedWhileTooManyAreBeingClosed) {
  for (size_t i = 0; i < kMost; ++i) {
    EXPECT_TRUE(closer_->AwaitRoom(kSoon, Wanted).ok()) << i;
    closer_->Share(DatasetThat([this] { answered_.wait(); })).reset();
  }
  const absl::Status refused = closer_->AwaitRoom(kSoon, Wanted);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("3 datasets are being closed"));
  EXPECT_THAT(refused.message(), HasSubstr("one of them for 0 s"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("/fake/0")));  // may be another user's

  answer_.set_value();
  EXPECT_TRUE(closer_->AwaitRoom(std::chrono::seconds(20), Wanted).ok());
}

TEST_F(DatasetCloserTest, AnOpeningThatNobodyWantsDoesNotWait) {
  for (size_t i = 0; i < kMost; ++i)
    closer_->Share(DatasetThat([this] { answered_.wait(); })).reset();
  int looks = 0;

  const absl::Status status =
      closer_->AwaitRoom(std::chrono::hours(1), [&looks] { return ++looks < 3; });

  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  answer_.set_value();
}

// Those of all unused datasets are closed at once when there are too many.
TEST_F(DatasetCloserTest, AnOpeningWaitsForStorageThatAnswersLate) {
  for (size_t i = 0; i < 3 * kMost; ++i)
    closer_->Share(DatasetThat([this] { answered_.wait(); })).reset();
  std::thread storage([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    answer_.set_value();
  });

  EXPECT_TRUE(closer_->AwaitRoom(std::chrono::seconds(20), Wanted).ok());
  storage.join();
}

size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// Their openings wait for no room, so nobody would join the threads.
TEST_F(DatasetCloserTest, DatasetsWithoutFilesTakeNoThreads) {
  const size_t before = Threads();

  for (int i = 0; i < 50; ++i) closer_->Share(MakeSynthetic(*ParseSynthetic("synthetic:"))).reset();

  EXPECT_EQ(Threads(), before);
}

TEST_F(DatasetCloserTest, StopWaitsForADatasetThatClosesOthers) {
  bool is_closed = false;
  auto part = closer_->Share(DatasetThat([&] { is_closed = true; }));
  closer_
      ->Share(DatasetThat([this, part = std::move(part)]() mutable {
        answered_.wait();
        part.reset();
      }))
      .reset();
  std::thread stop([this] { closer_->Stop(); });

  answer_.set_value();
  stop.join();

  EXPECT_TRUE(is_closed);
}

TEST_F(DatasetCloserTest, OnceStoppedItLeavesThemToTheirOwners) {
  std::thread::id closed;
  auto dataset = closer_->Share(DatasetThat([&] { closed = std::this_thread::get_id(); }));
  closer_->Stop();

  dataset.reset();

  EXPECT_EQ(closed, std::this_thread::get_id());
}

TEST_F(DatasetCloserTest, ADatasetMayOutliveIt) {
  std::thread::id closed;
  auto closer = std::make_shared<DatasetCloser>(kMost);
  auto dataset = closer->Share(DatasetThat([&] { closed = std::this_thread::get_id(); }));
  closer.reset();

  dataset.reset();

  EXPECT_EQ(closed, std::this_thread::get_id());
}

}  // namespace
}  // namespace penstock::source
