// Pinned delivery of undecoded rows: they are decoded on the way, one that cannot be becomes
// another row of its batch and is reported, and what the daemon says about them is checked.
#include <atomic>
#include <future>
#include <thread>

#include "client/src/session/stage_thread.h"
#include "client/src/session/undecodable_reports.h"
#include "common/shm/row_note.h"
#include "tests/unit/client/fake_gpu.h"
#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using std::chrono::milliseconds;

constexpr milliseconds kSoon(20'000);  // long enough for the thread that makes rows
constexpr uint64_t kPlaceBytes = 192, kRowBytes = 12;
constexpr uint8_t kDamaged = FakeGpu::kDamaged;
constexpr Finish kAsStored = {.type = Type::kUInt8, .layout = Layout::kNHWC};

// Rows of 2 × 2 × 3 bytes, in places; and a tensor of one int32 each.
Grant UndecodedGrant() {
  Grant grant = SmallGrant();
  grant.delivery = Delivery::kPinned;
  grant.device_depth = 2;
  grant.row_bytes = grant.place_bytes = kPlaceBytes;
  TensorPlace tensor;
  tensor.field = {.name = "number", .type = DType::kInt32};
  tensor.offset = 4 * kPlaceBytes;
  tensor.row_stride = tensor.row_bytes = 4;
  grant.tensors = {tensor};
  grant.labels_offset = 4 * kPlaceBytes + 64;
  grant.ids_offset = grant.labels_offset + 32;
  grant.slot_bytes = grant.ids_offset + 64;
  return grant;
}

shm::RowNote JpegNote() {
  return {.holds = shm::RowHolds::kJpeg,
          .bytes = 100,
          .width = 40,
          .height = 30,
          .left = 5,
          .top = 6,
          .x = {.in = 20, .out = 2, .first = 0, .count = 2},
          .y = {.in = 10, .out = 4, .first = 1, .count = 2},
          .flip = 1,
          .interpolation = 2};
}

class UndecodedSessionTest : public ::testing::Test {
 protected:
  UndecodedSessionTest() { daemon_.makers = gpu_->MakeRowMakers("").value(); }

  // Announces a batch whose rows hold files that begin with these bytes.
  void Announce(const std::vector<uint8_t>& first_bytes) {
    daemon_.AnnounceNext();
    const uint64_t slot = (daemon_.page().announced.load() - 1) % kSlots;
    slot_ = daemon_.slots() + slot * UndecodedGrant().slot_bytes;
    for (uint32_t row = 0; row < 4; ++row) {
      std::memset(slot_ + row * kPlaceBytes, first_bytes[row], 100);
      Write(row, JpegNote());
      const int32_t number = static_cast<int32_t>(row) + 70;
      std::memcpy(slot_ + 4 * kPlaceBytes + row * 4, &number, 4);
    }
  }
  void Write(uint32_t row, const shm::RowNote& note) {
    std::memcpy(slot_ + (row + 1) * kPlaceBytes - sizeof note, &note, sizeof note);
  }
  // Makes this the sample of a row of the batch that was announced last.
  void SetId(uint32_t row, uint64_t sample) {
    std::memcpy(slot_ + UndecodedGrant().ids_offset + row * sizeof sample, &sample, sizeof sample);
  }
  SessionCore Open() {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach(gpu_).value(), {});
  }
  uint64_t Replaced() const {
    uint64_t rows = 0;
    for (const auto& maker : daemon_.makers) rows += maker->replaced();
    return rows;
  }
  static std::span<const uint8_t> RowOf(const Result<Batch>& batch, uint32_t row) {
    return {batch->device_images() + row * kRowBytes, kRowBytes};
  }
  // What Next says of a batch with one such note.
  std::string Refusal(const shm::RowNote& note) {
    FakeDaemon daemon{UndecodedGrant()};
    daemon.makers = daemon_.makers;
    daemon.AnnounceNext();
    slot_ = daemon.slots();
    for (uint32_t row = 0; row < 4; ++row) Write(row, row == 2 ? note : JpegNote());
    SessionCore session(std::make_unique<FakeOpener>(&reopening_), daemon.Attach(gpu_).value(), {});
    return session.Next(stream_, kSoon).status().message();
  }

  const std::shared_ptr<FakeGpu> gpu_ = std::make_shared<FakeGpu>();
  FakeDaemon daemon_{UndecodedGrant()}, second_{UndecodedGrant()};
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = gpu_};
  const Stream stream_ = FakeGpu::Named(1);
  std::byte* slot_ = nullptr;
};

TEST_F(UndecodedSessionTest, FilesAreDecodedAndPixelsTaken) {
  Announce({11, 12, 13, 14});
  Write(2, {.holds = shm::RowHolds::kPixels, .bytes = kRowBytes});
  SessionCore session = Open();

  const Result<Batch> batch = session.Next(kSoon);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_TRUE(batch->on_device());
  for (uint32_t row = 0; row < 4; ++row) EXPECT_THAT(RowOf(batch, row), Each(11 + row));
  EXPECT_THAT(batch->labels(), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(batch->sample_ids(), ElementsAre(100, 101, 102, 103));
}

TEST_F(UndecodedSessionTest, ARowThatCannotBeDecodedBecomesTheNextThatCan) {
  Announce({kDamaged, 12, 13, kDamaged});
  SessionCore session = Open();

  const Result<Batch> batch = session.Next(kSoon);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(RowOf(batch, 0), Each(12));
  EXPECT_THAT(RowOf(batch, 3), Each(12));  // the row behind it is the first, which is no better
  EXPECT_THAT(batch->labels(), ElementsAre(11, 11, 12, 11));
  EXPECT_THAT(batch->sample_ids(), ElementsAre(101, 101, 102, 101));
  const auto* device = reinterpret_cast<const std::byte*>(batch->device_images());
  int32_t numbers[4];
  std::memcpy(numbers, device + 4 * kPlaceBytes, sizeof numbers);
  EXPECT_THAT(numbers, ElementsAre(71, 71, 72, 71));
  int64_t labels[4];
  std::memcpy(labels, device + UndecodedGrant().labels_offset, sizeof labels);
  EXPECT_THAT(labels, ElementsAre(11, 11, 12, 11));
  EXPECT_EQ(Replaced(), 2u);
}

TEST_F(UndecodedSessionTest, ABatchWithoutAnyRowIsAnErrorThatNamesASample) {
  Announce({kDamaged, kDamaged, kDamaged, kDamaged});
  SessionCore session = Open();

  const Status status = session.Next(kSoon).status();

  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("sample 100: damaged"));
}

TEST_F(UndecodedSessionTest, BatchesComeInTheirOrderAndSlotsGoBack) {
  for (uint8_t batch = 0; batch < 4; ++batch) Announce({batch, batch, batch, batch});
  SessionCore session = Open();
  for (uint8_t number = 0; number < 4; ++number) {
    uint8_t images[4 * kRowBytes] = {};
    ASSERT_TRUE(session.NextInto(kAsStored, {images, sizeof images}, stream_, kSoon).ok());
    gpu_->RunAll();
    EXPECT_THAT(images, Each(number));
    EXPECT_EQ(daemon_.page().released[number].load(), number + 1u);
  }
}

TEST_F(UndecodedSessionTest, MakersTakeBatchesInTurn) {
  for (uint8_t batch = 0; batch < 4; ++batch) Announce({batch, batch, batch, batch});
  SessionCore session = Open();
  for (int number = 0; number < 4; ++number) ASSERT_TRUE(session.Next(kSoon).ok());
  ASSERT_EQ(daemon_.makers.size(), 2u);
  for (const auto& maker : daemon_.makers) EXPECT_EQ(gpu_->BegunOn(maker->stream()), 2);
}

TEST_F(UndecodedSessionTest, BothMakersWorkAtOnce) {
  Announce({1, 1, 1, 1});
  Announce({2, 2, 2, 2});
  gpu_->hold_rows = true;
  SessionCore session = Open();
  EXPECT_EQ(session.Next(milliseconds(5)).status().code(), Code::kDeadlineExceeded);
  for (const auto& maker : daemon_.makers) {
    while (gpu_->BegunOn(maker->stream()) == 0) std::this_thread::yield();
  }
  gpu_->hold_rows = false;
  const Result<Batch> batch = session.Next(kSoon);
  ASSERT_TRUE(batch.ok());
  EXPECT_THAT(RowOf(batch, 0), Each(1));
}

TEST_F(UndecodedSessionTest, ABatchInTheMakingIsWaitedForWithinTheTimeLimitAndCounted) {
  Announce({11, 12, 13, 14});
  gpu_->hold_rows = true;
  SessionCore session = Open();

  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(*session.WaitReady(milliseconds(5)));
    EXPECT_EQ(session.Next(milliseconds(5)).status().code(), Code::kDeadlineExceeded);
  }
  std::thread later([this] {
    std::this_thread::sleep_for(milliseconds(30));
    gpu_->hold_rows = false;
  });
  const Result<Batch> batch = session.Next(kSoon);
  later.join();

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(RowOf(batch, 0), Each(11));
  EXPECT_GE(session.Stats().waited_seconds, 0.04);
  EXPECT_EQ(session.Stats().batches_ready, 0u);
}

TEST_F(UndecodedSessionTest, TheDaemonSeesThatTheTrainerSleepsWhileABatchIsInTheMaking) {
  Announce({11, 12, 13, 14});
  gpu_->hold_rows = true;
  SessionCore session = Open();
  bool has_slept = false;
  std::thread daemon([&] {
    for (int i = 0; i < 5000 && !has_slept; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
      has_slept = daemon_.page().taken == 1 && daemon_.page().consumer_asleep == 1;
    }
    gpu_->hold_rows = false;
  });

  EXPECT_TRUE(session.Next(kSoon).ok());
  daemon.join();

  EXPECT_TRUE(has_slept);
  EXPECT_EQ(daemon_.page().consumer_asleep, 0u);
}

TEST_F(UndecodedSessionTest, ADecoderThatFailsFailsTheSession) {
  Announce({1, 2, 3, 4});
  gpu_->making = absl::InternalError("the engines are gone");
  SessionCore session = Open();

  EXPECT_THAT(session.Next(kSoon).status().message(), HasSubstr("the engines are gone"));
}

TEST_F(UndecodedSessionTest, TheEndWaitsForTheThreadAndFreesEverything) {
  Announce({1, 2, 3, 4});
  Announce({1, 2, 3, 4});
  {
    SessionCore session = Open();
    const Result<Batch> batch = session.Next(kSoon);
    ASSERT_TRUE(session.Close().ok());
  }
  EXPECT_EQ(daemon_.page().released[1].load(), 2u);
  EXPECT_EQ(gpu_->alive, 0);
}

TEST_F(UndecodedSessionTest, WhatAPlaceSaysIsChecked) {
  const auto with = [](auto change) {
    shm::RowNote note = JpegNote();
    change(note);
    return note;
  };
  const std::pair<shm::RowNote, const char*> cases[] = {
      {with([](auto& n) { n.holds = static_cast<shm::RowHolds>(9); }), "something unknown, 9"},
      {with([](auto& n) { n.holds = shm::RowHolds::kPixels; }), "100 bytes of pixels, expected 12"},
      {with([](auto& n) { n.bytes = 0; }), "got 0 bytes"},
      {with([](auto& n) { n.bytes = 129; }), "got 129 bytes, expected at most 128"},
      {with([](auto& n) { n.left = 21; }), "cannot become the row"},
      {with([](auto& n) { n.left = UINT32_MAX; }), "cannot become the row"},
      {with([](auto& n) { n.top = 30; }), "cannot become the row"},
      {with([](auto& n) { n.x.in = 0; }), "cannot become the row"},
      {with([](auto& n) { n.x.out = 0; }), "cannot become the row"},
      {with([](auto& n) { n.y.out = UINT32_MAX; }), "cannot become the row"},
      {with([](auto& n) { n.y.first = 3; }), "cannot become the row"},
      {with([](auto& n) { n.x.count = 3; }), "cannot become the row"},
      {with([](auto& n) { n.width = UINT32_MAX; }), "cannot become the row"},
      {with([](auto& n) { n.flip = 2; }), "cannot become the row"},
      {with([](auto& n) { n.interpolation = 4; }), "cannot become the row"}};
  for (const auto& [note, words] : cases) EXPECT_THAT(Refusal(note), HasSubstr(words));
}

// ---- What the daemon hears of rows that could not be decoded. ----

TEST_F(UndecodedSessionTest, EachSampleIsReportedOnceWithATimeLimit) {
  Announce({kDamaged, 12, 13, kDamaged});
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kSoon).ok());
  EXPECT_THAT(daemon_.link->AwaitReports(1), ElementsAre(ElementsAre(100, 103)));
  EXPECT_EQ(daemon_.link->report_timeout, std::chrono::seconds(1));

  Announce({21, kDamaged, 23, 24});
  SetId(0, 100);                      // of row 0 …
  std::memset(slot_, kDamaged, 100);  // … which fails again
  ASSERT_TRUE(session.Next(kSoon).ok());

  EXPECT_THAT(daemon_.link->AwaitReports(2), ElementsAre(ElementsAre(100, 103), ElementsAre(201)));
}

TEST_F(UndecodedSessionTest, BatchesWithoutTroubleAreNotReported) {
  Announce({1, 2, 3, 4});
  {
    SessionCore session = Open();
    ASSERT_TRUE(session.Next(kSoon).ok());
  }
  EXPECT_THAT(daemon_.link->AwaitReports(0), ::testing::IsEmpty());
}

TEST_F(UndecodedSessionTest, AReportThatFailsCostsNoBatchAndTheSampleIsReportedNextTime) {
  daemon_.link->reporting = absl::UnavailableError("the daemon is busy");
  Announce({kDamaged, 12, 13, 14});
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kSoon).ok());
  ASSERT_EQ(daemon_.link->AwaitReports(1).size(), 1u);

  Announce({kDamaged, 22, 23, 24});
  SetId(0, 100);
  const Result<Batch> batch = session.Next(kSoon);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(daemon_.link->AwaitReports(2), ElementsAre(ElementsAre(100), ElementsAre(100)));
}

TEST_F(UndecodedSessionTest, ASessionThatFailsOnBadSamplesNamesTheFirstAndReportsAll) {
  Grant grant = UndecodedGrant();
  grant.dataset = "birds";
  grant.fail_on_bad_sample = true;
  FakeDaemon daemon{grant};
  daemon.makers = daemon_.makers;
  daemon.AnnounceNext();
  slot_ = daemon.slots();
  for (uint32_t row = 0; row < 4; ++row) {
    std::memset(slot_ + row * kPlaceBytes, row == 0 ? 11 : kDamaged, 100);
    Write(row, JpegNote());
  }
  SessionCore session(std::make_unique<FakeOpener>(&reopening_), daemon.Attach(gpu_).value(), {});

  const Status status = session.Next(kSoon).status();

  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.message(),
              HasSubstr("sample 101 of 'birds': the GPU cannot decode it: damaged"));
  EXPECT_EQ(Replaced(), 0u);
  EXPECT_THAT(daemon.link->AwaitReports(1), ElementsAre(ElementsAre(101, 102, 103)));
}

TEST(UndecodableReportsTest, ManySamplesAreReportedInPartsUpToTheFirstFailure) {
  FakeDaemon daemon;
  const absl::StatusOr<Opened> opened = daemon.Attach();
  UndecodableReports reports;
  for (uint64_t sample = 0; sample < 4097; ++sample) reports.Note(sample);

  daemon.link->reporting = absl::UnavailableError("gone");
  reports.Send(*opened->attachment.get());
  EXPECT_EQ(daemon.link->AwaitReports(1).size(), 1u);
  daemon.link->reporting = absl::OkStatus();
  for (uint64_t sample = 0; sample < 4097; ++sample) reports.Note(sample);
  reports.Send(*opened->attachment.get());
  reports.Note(5);
  reports.Send(*opened->attachment.get());

  const auto sent = daemon.link->AwaitReports(3);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[1].size(), 4096u);
  EXPECT_THAT(sent[2], ElementsAre(4096));
}

TEST(StageThreadTest, WhatFollowsABatchIsNotAwaitedButRunsBeforeTheEnd) {
  std::atomic<bool> done = false;
  std::promise<void> may_go;
  {
    StageThread thread;
    ASSERT_TRUE(thread.Start().ok());
    thread.Add(
        1, [] { return absl::OkStatus(); },
        [&] {
          may_go.get_future().wait();
          done = true;
        });

    EXPECT_TRUE(thread.Await(1).ok());
    EXPECT_FALSE(done);
    may_go.set_value();
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace penstock::client
