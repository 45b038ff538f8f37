// The canary's picture, and the canary when no batch can arrive. tests/system/engine tests it with
// workers.
#include "server/app/canary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/shm/doorway_wire.h"
#include "server/app/canary_picture.h"
#include "server/decode/decoder.h"

namespace penstock::app {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

std::vector<std::byte> DecodedPicture() {
  const auto dataset = MakeCanaryDataset();
  const auto reader = dataset->NewReader();
  std::vector<std::byte> file(reader->Open(0)->bytes);
  EXPECT_TRUE(reader->Read(file).ok());
  std::vector<std::byte> row(decode::RowBytes(CanaryDecoding()));
  decode::Decoder decoder{decode::SampleLimits()};
  EXPECT_EQ(decoder.DecodeRow(file, CanaryDecoding(), {}, row), base::Fault::kNone);
  return row;
}

TEST(CanaryPictureTest, ARowOfAnotherSizeOrWithAWrongPixelIsRefusedInWords) {
  std::vector<std::byte> row = DecodedPicture();
  const absl::Status shorter = CheckCanaryPicture(std::span(row).first(row.size() - 1));
  EXPECT_EQ(shorter.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(shorter.message(), HasSubstr("767 bytes came; wanted 768"));

  row[(5 * 16 + 9) * 3 + 1] = std::byte{3};
  const absl::Status wrong = CheckCanaryPicture(row);
  EXPECT_EQ(wrong.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(wrong.message(), HasSubstr("3 instead of 200 at pixel (9, 5), channel 1"));

  EXPECT_FALSE(CheckCanaryPicture(std::vector<std::byte>(row.size())).ok());  // never filled
}

TEST(CanaryPictureTest, ItIsWhatADecoderMakesOfTheFile) {
  EXPECT_EQ(CheckCanaryPicture(DecodedPicture()), absl::OkStatus());
}

class CanaryTest : public ::testing::Test {
 protected:
  static feed::Engine::Options Options(uint64_t pool_bytes) {
    feed::Engine::Options options;
    options.pool.max_bytes = pool_bytes;
    options.workers.count = 0;
    options.admission.max_sessions = 1;
    return options;
  }
  absl::Status Send(uint64_t peer, const void* message, size_t bytes, const std::vector<int>& fds) {
    peers_.push_back(peer);
    return canary_.Receive(message, bytes, fds);
  }

  base::TimePoint now_ = base::Now();
  std::vector<uint64_t> peers_;
  Canary canary_;
};

TEST_F(CanaryTest, WithoutAWorkerNoneComesThroughAndNobodySeesItsSession) {
  feed::Engine engine(Options(1 << 20), [this](auto... message) { return Send(message...); });
  ASSERT_TRUE(engine.Start().ok());

  for (int second = 0; second < 30; ++second) {
    canary_.Step(engine, now_ + seconds(second));
    engine.Pump(now_ + seconds(second));
  }

  EXPECT_FALSE(canary_.came_through());
  EXPECT_THAT(peers_, ::testing::Each(Canary::kPeer));
  EXPECT_FALSE(peers_.empty());
  EXPECT_EQ(engine.sessions(), 0u);
  EXPECT_EQ(engine.views().GetVitals().sessions, 0u);
  EXPECT_TRUE(engine.views().Sessions().empty());
  EXPECT_TRUE(engine.views().View().feeds.empty());
  EXPECT_TRUE(engine.Totals(now_).by_dataset.empty());
}

TEST_F(CanaryTest, APoolWithoutRoomForItIsTriedAgainASecondLater) {
  feed::Engine engine(Options(1 << 10), [this](auto... message) { return Send(message...); });
  ASSERT_TRUE(engine.Start().ok());

  for (int step = 0; step < 10; ++step) canary_.Step(engine, now_);

  EXPECT_FALSE(canary_.came_through());
  EXPECT_TRUE(peers_.empty());
  EXPECT_EQ(engine.views().View().pool.reserved_bytes, 0u);
}

TEST_F(CanaryTest, MessagesOfAWrongSizeAreRefused) {
  shm::DoorwaySession session = {};
  session.header.kind = shm::DoorwayKind::kSession;
  EXPECT_FALSE(canary_.Receive(&session, sizeof(session) - 1, {}).ok());
  EXPECT_FALSE(canary_.Receive(&session, 3, {}).ok());
}

}  // namespace
}  // namespace penstock::app
