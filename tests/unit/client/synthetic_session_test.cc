// Synthetic rows, which the consumer's stream generates without a slab, a copy or a word in GPU
// memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "client/finish/synthetic.h"
#include "tests/unit/client/fake_gpu.h"
#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Finish kBytes = {.type = Type::kUInt8, .layout = Layout::kNHWC};

Grant SyntheticGrant(Delivery delivery) {
  Grant grant = SmallGrant();
  grant.delivery = delivery;
  grant.synthetic = {.seed = 5, .samples = 100, .classes = 10};
  grant.row_bytes = 0;
  grant.labels_offset = 0;
  grant.ids_offset = 32;
  grant.slot_bytes = 64;
  return grant;
}

class SyntheticSessionTest : public ::testing::Test {
 protected:
  SessionCore Open() {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach(gpu_).value(), {});
  }
  uint64_t Word(uint64_t sequence) { return daemon_.page().released[sequence - 1].load(); }
  Into Target() { return {images_, sizeof(images_), labels_}; }
  // The rows of batch `sequence`, computed by the CPU.
  static std::vector<std::byte> Expected(uint64_t sequence) {
    std::vector<std::byte> rows(48);
    const finish::Synthetic what = {
        .seed = 5, .first_sample = 4 * (sequence - 1), .samples = 100, .classes = 10};
    EXPECT_TRUE(
        finish::Synthesize(what, {Type::kUInt8, Layout::kNHWC, {}, {}}, {4, 2, 2, 3}, rows, {})
            .ok());
    return rows;
  }

  const std::shared_ptr<FakeGpu> gpu_ = std::make_shared<FakeGpu>();
  FakeDaemon daemon_{SyntheticGrant(Delivery::kDevice)}, second_{SyntheticGrant(Delivery::kDevice)};
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = gpu_};
  const Stream stream_ = FakeGpu::Named(1);
  uint8_t images_[48] = {};
  int64_t labels_[4] = {};
};

TEST_F(SyntheticSessionTest, AGrantWhoseSlotsHaveBytesForRowsIsRefused) {
  Grant grant = SyntheticGrant(Delivery::kHost);
  grant.row_bytes = 12;

  EXPECT_TRUE(absl::IsInternal(CheckGrant(grant)));
}

TEST_F(SyntheticSessionTest, AGrantOfNoSamplesIsRefused) {
  Grant grant = SyntheticGrant(Delivery::kHost);
  grant.synthetic->samples = grant.samples = 0;

  EXPECT_THAT(std::string(CheckGrant(grant).message()), HasSubstr("without samples"));
}

TEST_F(SyntheticSessionTest, HostMemoryIsRefusedForASessionOnAGpu) {
  daemon_.AnnounceNext();
  SessionCore session = Open();

  gpu_->plain_host = images_;

  const Result<Batch> batch = session.NextInto(kBytes, Target(), stream_, kNow);

  EXPECT_EQ(batch.status().code(), Code::kInvalidArgument);
}

TEST_F(SyntheticSessionTest, NothingHasToBeKnownToTheGpu) {
  gpu_->registering = absl::FailedPreconditionError("no registrations");
  daemon_.AnnounceNext();
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(stream_, kNow).ok());
}

TEST_F(SyntheticSessionTest, ABatchHasLabelsAndIdsAndNoBytesOfRows) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  const Batch batch = session.Next(stream_, kNow).OrDie();

  EXPECT_TRUE(batch.synthetic() && batch.on_device());
  EXPECT_TRUE(batch.images().empty());
  EXPECT_EQ(batch.device_images(), nullptr);
  EXPECT_EQ(batch.device_labels(), nullptr);
  EXPECT_THAT(batch.labels(), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(batch.sample_ids(), ElementsAre(100, 101, 102, 103));
  std::vector<std::byte> copied(48);
  ASSERT_TRUE(batch.CopyImages(copied.data(), copied.size()).ok());
  EXPECT_EQ(copied, Expected(1));
}

TEST_F(SyntheticSessionTest, RowsAreMadeInTheStreamAndTheSlotIsBackAtOnce) {
  for (int i = 0; i < 2; ++i) daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(stream_, kNow).ok());

  const Result<Batch> batch = session.NextInto(kBytes, Target(), stream_, kNow);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(Word(2), 2u);  // nothing on the device reads the slot
  EXPECT_EQ(std::count(std::begin(images_), std::end(images_), 0), 48);
  gpu_->RunAll();
  EXPECT_EQ(std::memcmp(images_, Expected(2).data(), sizeof(images_)), 0);
  EXPECT_EQ(labels_[1], finish::SyntheticLabel({.seed = 5, .classes = 10}, 5));
}

TEST_F(SyntheticSessionTest, AReleaseBehindAStreamWaitsForNoStream) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Batch batch = session.Next(stream_, kNow).OrDie();

  ASSERT_TRUE(batch.Release(stream_).ok());

  EXPECT_EQ(Word(1), 1u);
}

}  // namespace
}  // namespace penstock::client
