// Batches without images, and fields next to images: views in place, and finishes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "tests/unit/client/device_fixture.h"

namespace penstock::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Finish kAny = {};

// 4 rows: windows of three tokens and their targets, which overlap in memory; and texts of up to
// five bytes.
Grant TensorGrant() {
  Grant grant = SmallGrant();
  grant.row_bytes = grant.height = grant.width = grant.channels = 0;
  grant.labeled = false;
  grant.tensors = {
      {.field = {"tokens", DType::kUInt16, {3}}, .offset = 0, .row_stride = 8, .row_bytes = 6},
      {.field = {"targets", DType::kUInt16, {3}}, .offset = 2, .row_stride = 8, .row_bytes = 6},
      {.field = {"txt", DType::kUInt8, {5}, true},
       .offset = 64,
       .row_stride = 5,
       .lengths_offset = 128,
       .row_bytes = 5}};
  grant.labels_offset = 192;
  grant.ids_offset = 256;
  grant.slot_bytes = 320;
  return grant;
}

class TensorSessionTest : public ::testing::Test {
 protected:
  SessionCore Open() {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach().value(), {});
  }
  Result<Batch> Next(SessionCore& session) {
    daemon_.AnnounceNext();
    return session.Next(kNow);
  }

  FakeDaemon daemon_{TensorGrant()}, second_{TensorGrant()};
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = {}};
  alignas(8) int64_t into_[12] = {};
  int32_t lengths_[4] = {};
};

TEST_F(TensorSessionTest, AGrantWhoseTensorsCannotBeIsRefusedAsABugOfTheDaemon) {
  const std::function<void(TensorPlace&)> changes[] = {
      [](TensorPlace& place) { place.field.type = static_cast<DType>(99); },
      [](TensorPlace& place) { place.field.shape = {4}; },  // extends into the next row
      [](TensorPlace& place) { place.row_bytes = 8; },
      [](TensorPlace& place) { place.offset = 1; },  // not aligned to an element
      [](TensorPlace& place) { place.offset = 190; },
      [](TensorPlace& place) { place.row_stride = 100; },
      [](TensorPlace& place) { place.row_stride = UINT64_MAX - 1; },
      [](TensorPlace& place) {
        place.field.shape = {1u << 31, 1u << 31, 1u << 31};
      },
      [](TensorPlace& place) { place.field.variable = true, place.lengths_offset = 180; },
  };
  for (const auto& change : changes) {
    Grant grant = TensorGrant();
    change(grant.tensors.front());
    EXPECT_TRUE(absl::IsInternal(CheckGrant(grant))) << &change - changes;
  }
  EXPECT_TRUE(CheckGrant(TensorGrant()).ok());
}

TEST_F(TensorSessionTest, ATensorThatThereIsNotIsRefusedAndTheBatchStaysHeld) {
  SessionCore session = Open();
  Result<Batch> batch = Next(session);
  const TensorInto fourth = {.tensor = 3, .data = into_, .bytes = sizeof(into_)};

  const Status status = batch->FinishInto(kAny, {.tensors = {&fourth, 1}}, nullptr);

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("a batch has 3"));
  EXPECT_EQ(batch->tensor(3).data, nullptr);
  EXPECT_NE(batch->tensor(0).data, nullptr);
}

TEST_F(TensorSessionTest, LengthsOfWhatHasOneLengthAreRefusedByName) {
  SessionCore session = Open();
  Result<Batch> batch = Next(session);
  const TensorInto tokens = {
      .type = DType::kInt64, .data = into_, .bytes = sizeof(into_), .lengths = lengths_};

  EXPECT_THAT(batch->FinishInto(kAny, {.tensors = {&tokens, 1}}, nullptr).message(),
              HasSubstr("'tokens'"));
}

TEST_F(TensorSessionTest, NothingIsTakenWhereAFullBatchOfATensorHasNoRoom) {
  SessionCore session = Open();
  daemon_.AnnounceNext();
  const TensorInto tokens = {.type = DType::kInt64, .data = into_, .bytes = sizeof(into_) - 8};

  const Status status = session.NextInto(kAny, {.tensors = {&tokens, 1}}, nullptr, kNow).status();

  EXPECT_THAT(status.message(), HasSubstr("got 88 bytes, expected 96"));
  EXPECT_TRUE(session.Next(kNow).ok());
}

// Stored floats are not normalised, so asking for it is an error.
TEST_F(TensorSessionTest, AMeanOrADeviationForABatchWithoutAnImageIsRefusedAndNothingIsTaken) {
  SessionCore session = Open();
  daemon_.AnnounceNext();
  for (const Finish& finish : {Finish{.mean = {0.5f, 0, 0}}, Finish{.stddev = {1, 1, 2}}}) {
    const Status status = session.NextInto(finish, {}, nullptr, kNow).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("no image of bytes"));
  }
  Result<Batch> batch = session.Next(kNow);
  ASSERT_TRUE(batch.ok());
  for (const Finish& finish : {Finish{.mean = {0.5f, 0, 0}}, Finish{.stddev = {1, 1, 2}}}) {
    EXPECT_EQ(batch->FinishInto(finish, into_, 0).code(), Code::kInvalidArgument);
    EXPECT_EQ(batch->FinishInto(finish, {}, nullptr).code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(batch->FinishInto(kAny, {}, nullptr).ok());
}

TEST_F(TensorSessionTest, MemoryThatIsNotTheHostsIsRefused) {
  SessionCore session = Open();
  Result<Batch> batch = Next(session);
  const TensorInto tokens = {
      .type = DType::kInt64, .data = reinterpret_cast<void*>(0x10), .bytes = 96};

  EXPECT_THAT(batch->FinishInto(kAny, {.tensors = {&tokens, 1}}, nullptr).message(),
              HasSubstr("'tokens' is not memory that the host can use"));
}

TEST_F(TensorSessionTest, TensorsAreSeenWhereTheyLieUntilTheBatchIsReleased) {
  SessionCore session = Open();
  Result<Batch> batch = Next(session);

  const TensorView tokens = batch->tensor(0), targets = batch->tensor(1), text = batch->tensor(2);

  EXPECT_EQ(tokens.row_stride, 8u);
  EXPECT_EQ(tokens.rows, 4u);
  EXPECT_EQ(targets.data, tokens.data + 2);
  EXPECT_EQ(tokens.lengths, nullptr);
  EXPECT_EQ(text.data, tokens.data + 64);
  EXPECT_EQ(text.lengths[0], 0x01010101);
  EXPECT_TRUE(batch->images().empty());
  batch->Release();
  EXPECT_EQ(batch->tensor(0).data, nullptr);
}

TEST_F(TensorSessionTest, AFinishCastsGathersAndReleases) {
  SessionCore session = Open();
  Result<Batch> batch = Next(session);
  uint8_t text[20] = {};
  const TensorInto tensors[] = {
      {.tensor = 1, .type = DType::kInt64, .data = into_, .bytes = sizeof(into_)},
      {.tensor = 2, .data = text, .bytes = sizeof(text), .lengths = lengths_}};

  ASSERT_TRUE(batch->FinishInto(kAny, {.tensors = tensors}, nullptr).ok());

  EXPECT_THAT(into_, Each(0x0101));
  EXPECT_THAT(text, Each(1));
  EXPECT_THAT(lengths_, Each(0x01010101));
  EXPECT_EQ(daemon_.page().released[0].load(), 1u);
}

TEST_F(TensorSessionTest, ADaemonThatComesBackWithOtherTensorsHasAnotherDataset) {
  Grant other = TensorGrant();
  other.tensors.pop_back();
  FakeDaemon changed(other);
  reopening_.daemon = &changed;
  SessionCore session = Open();
  daemon_.link->dead = true;
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(std::chrono::seconds(1)).status();

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("the dataset changed"));
}

// On a GPU, a batch without images needs no memory for them.
TEST(TensorsOnGpuTest, AFinishGathersThemBehindWhichTheSlotGoesBack) {
  Grant grant = TensorGrant();
  grant.delivery = Delivery::kDevice;
  grant.handle = HandleKind::kIpc;
  grant.device_depth = 2;
  const auto gpu = std::make_shared<FakeGpu>();
  FakeDaemon daemon(grant);
  Reopening reopening;
  daemon.slab = gpu->Export(kSlabId);
  ASSERT_TRUE(daemon.link->slabs.Open(Offer(), *gpu).ok());
  SessionCore session(std::make_unique<FakeOpener>(&reopening), daemon.Attach(gpu).value(), {});
  shm::ControlEntry entry = daemon.Entry(1);
  entry.segment = kSlabId;
  daemon.Announce(entry);
  const Stream stream = FakeGpu::Named(1);
  Result<Batch> batch = session.Next(stream, kNow);
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  alignas(8) int64_t targets[12] = {}, labels[4] = {};
  uint8_t text[20] = {};
  int32_t lengths[4] = {};
  const TensorInto tensors[] = {
      {.tensor = 1, .type = DType::kInt64, .data = targets, .bytes = sizeof(targets)},
      {.tensor = 2, .data = text, .bytes = sizeof(text), .lengths = lengths}};

  const Status finished = batch->FinishInto(kAny, {.labels = labels, .tensors = tensors}, stream);

  ASSERT_TRUE(finished.ok()) << finished.ToString();
  EXPECT_THAT(targets, Each(0));  // the stream hasn't run yet
  EXPECT_EQ(daemon.page().released[0].load(), 0u);
  gpu->RunAll();
  EXPECT_THAT(targets, Each(0x0101));
  EXPECT_THAT(text, Each(1));
  EXPECT_THAT(lengths, Each(0x01010101));
  EXPECT_THAT(labels, ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(daemon.page().released[0].load(), 1u);
}

}  // namespace
}  // namespace penstock::client
