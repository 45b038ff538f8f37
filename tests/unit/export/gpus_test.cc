#include "server/export/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "tests/support/fakes/fake_copier.h"

namespace penstock::exporting {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

cuda::Uuid GpuNumber(uint8_t number) { return cuda::Uuid{{number}}; }

class GpusTest : public ::testing::Test {
 protected:
  GpusTest() {
    gpus_.WatchWith([this](int fd, bool watch) {
      if (watch) {
        watched_.insert(fd);
      } else {
        watched_.erase(fd);
      }
    });
  }
  using Answer = std::optional<absl::StatusOr<Gpus::ReservedPlace>>;
  Answer Ask(uint8_t gpu, uint32_t depth = 0) {
    auto answer = std::make_shared<Answer>();
    gpus_.Reserve(
        {.peer = 1,
         .user = 1000,
         .slot_bytes = 4096,
         .request = {.gpu = GpuNumber(gpu), .depth = depth, .kind = {}, .client = {}}},
        [answer](absl::StatusOr<Gpus::ReservedPlace> place) { answer->emplace(std::move(place)); });
    gpus_.Collect();
    return std::move(*answer);
  }

  std::set<int> watched_;
  absl::Status refuse_;
  std::vector<FakeCopier*> copiers_;
  Gpus gpus_{{.make_copier = [this](const cuda::Uuid&) -> absl::StatusOr<std::unique_ptr<Copier>> {
    auto copier = std::make_unique<FakeCopier>();
    copier->refuse_slabs = refuse_;
    copiers_.push_back(copier.get());
    return copier;
  }}};
};

TEST_F(GpusTest, WithoutASessionThereIsNoGpu) {
  EXPECT_THAT(gpus_.View(), IsEmpty());
  EXPECT_TRUE(gpus_.status().ok());
}

TEST(NoGpusTest, ADaemonThatMayHaveNoMemoryOnGpusTriesNone) {
  Gpus gpus({.max_bytes = 0, .make_copier = nullptr});
  absl::Status refused;

  gpus.Reserve({.slot_bytes = 4096, .request = {}},
               [&](const absl::StatusOr<Gpus::ReservedPlace>& place) { refused = place.status(); });

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("gpu.max is 0B"));
}

TEST_F(GpusTest, WhyAGpuCannotBeUsedIsAnsweredAndRemembered) {
  refuse_ = absl::FailedPreconditionError("there is no driver");

  const Answer answer = Ask(1);

  EXPECT_EQ(answer->status(), refuse_);
  ASSERT_THAT(gpus_.View(), SizeIs(1));
  EXPECT_EQ(gpus_.View()[0].state, "there is no driver");
  EXPECT_THAT(watched_, IsEmpty());
  EXPECT_TRUE(gpus_.status().ok()) << "the daemon goes on serving others";
}

TEST_F(GpusTest, AGpuThatCouldNotBeUsedIsTriedAgain) {
  refuse_ = absl::FailedPreconditionError("somebody has it alone");
  Ask(1);
  refuse_ = absl::OkStatus();

  const Answer answer = Ask(1);

  ASSERT_TRUE(answer->ok()) << answer->status();
  EXPECT_EQ(gpus_.View()[0].state, "serving");
}

TEST_F(GpusTest, NamesOfGpusThatAreNotHereAreNotRememberedForEver) {
  refuse_ = absl::NotFoundError("no such GPU");

  for (int number = 0; number < 200; ++number) Ask(static_cast<uint8_t>(number));

  EXPECT_THAT(gpus_.View(), SizeIs(16));
}

TEST_F(GpusTest, EachGpuHasACopierOfItsOwnWhichIsWatched) {
  const Answer one = Ask(1), again = Ask(1), other = Ask(2);

  EXPECT_THAT(copiers_, SizeIs(2));
  EXPECT_THAT(watched_, SizeIs(2));
  EXPECT_EQ((*one)->reservation.gpu().uuid(), GpuNumber(1));
  EXPECT_EQ((*other)->reservation.gpu().uuid(), GpuNumber(2));
}

TEST_F(GpusTest, TheConfiguredDepthIsTheDefault) {
  EXPECT_EQ((*Ask(1))->reservation.depth(), 3u);
  EXPECT_EQ((*Ask(1, 5))->reservation.depth(), 5u);
}

TEST_F(GpusTest, ALostGpuIsTheDaemonsTrouble) {
  const Answer answer = Ask(1);
  copiers_[0]->failure = absl::InternalError("an illegal address");

  EXPECT_THAT(std::string(gpus_.status().message()), HasSubstr("GPU-01"));
  EXPECT_THAT(std::string(gpus_.status().message()), HasSubstr("an illegal address"));
}

}  // namespace
}  // namespace penstock::exporting
