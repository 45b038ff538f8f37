// Tests feeds whose consumer decodes on its GPU, in a whole engine with real workers: the files
// arrive in the slots as they are, the other rows as pixels, with every promise of a feed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/shm/row_note.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/system/engine/engine_rig.h"

namespace penstock::feed {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kPlace = 16 << 10;
constexpr uint64_t kProgressive = 7;  // a sample that the engines do not take

class UndecodedRowsTest : public ::testing::Test {
 protected:
  UndecodedRowsTest() { Fill(rig_); }
  static testing::FakeDataset::Bytes FileOf(uint64_t sample) {
    const auto number = static_cast<uint32_t>(sample);
    return testing::MakeJpeg(80 + 7 * (number % 7), 72, {.progressive = sample == kProgressive},
                             number);
  }
  static void Fill(EngineRig& rig) {
    for (uint64_t sample = 0; sample < EngineRig::kSamples; ++sample)
      rig.Become(sample, FileOf(sample));
  }
  OpenRequest Request(uint64_t peer, uint32_t share = UINT32_MAX) const {
    OpenRequest request = rig_.Request(peer);
    request.feed.decoding.undecoded = {.place_bytes = kPlace, .share = share, .decoder = 1};
    return request;
  }
  static std::span<const std::byte> PlaceOf(const Copied& batch, uint64_t row) {
    return std::span(batch.pixels).subspan(row * kPlace, kPlace);
  }
  static shm::RowNote NoteOf(std::span<const std::byte> place) {
    shm::RowNote note;
    std::memcpy(&note, place.data() + place.size() - sizeof note, sizeof note);
    return note;
  }
  // How many rows hold files; checks that these are the samples' files.
  static uint64_t CountFiles(const std::vector<Copied>& batches) {
    uint64_t count = 0;
    for (const Copied& batch : batches)
      for (uint64_t row = 0; row < batch.ids.size(); ++row) {
        const std::span<const std::byte> place = PlaceOf(batch, row);
        const shm::RowNote note = NoteOf(place);
        const auto behind = place.subspan(note.bytes, place.size() - note.bytes - sizeof note);
        EXPECT_TRUE(std::ranges::all_of(behind, [](std::byte b) { return b == std::byte{0}; }));
        if (note.holds != shm::RowHolds::kJpeg) continue;
        ++count;
        const testing::FakeDataset::Bytes file = FileOf(batch.ids[row]);
        EXPECT_EQ(note.bytes, file.size());
        EXPECT_TRUE(std::ranges::equal(place.first(note.bytes), file));
      }
    return count;
  }

  EngineRig rig_{2};
};

TEST_F(UndecodedRowsTest, FilesArriveAsTheyAreAndOtherRowsAsPixels) {
  const std::vector<Copied> batches = rig_.TakeAll(rig_.Open(Request(kPeer)));

  ASSERT_EQ(batches.size(), kBatches);
  EXPECT_EQ(CountFiles(batches), EngineRig::kSamples - 1);
  const std::vector<Copied> pixels = rig_.TakeAll(rig_.Open(rig_.Request(kOtherPeer)));
  const uint64_t batch = kProgressive / EngineRig::kBatch, row = kProgressive % EngineRig::kBatch;
  const std::span<const std::byte> place = PlaceOf(batches[batch], row);
  const size_t bytes = NoteOf(place).bytes;
  EXPECT_TRUE(std::ranges::equal(place.first(bytes),
                                 std::span(pixels[batch].pixels).subspan(row * bytes, bytes)));
}

TEST_F(UndecodedRowsTest, AnotherRunHasTheSameBytesAndAnotherShareIsAnotherFeed) {
  const auto first = rig_.Ask(Request(kPeer));
  const std::vector<Copied> batches = rig_.TakeAll(first->session);
  EngineRig another(1);
  Fill(another);
  OpenRequest request = Request(kPeer);
  request.dataset = another.dataset();
  EXPECT_EQ(another.TakeAll(another.Open(request)), batches);

  const auto half = rig_.Ask(Request(kOtherPeer, 1U << 31));
  EXPECT_NE(half->fingerprint, first->fingerprint);
  const uint64_t files = CountFiles(rig_.TakeAll(half->session));
  EXPECT_GT(files, EngineRig::kSamples / 5);
  EXPECT_LT(files, EngineRig::kSamples * 4 / 5);
}

// White, and black where a place has its note, as if there were nothing to clear.
testing::FakeDataset::Bytes WhiteAndBlack(uint32_t side) {
  std::string file = absl::StrCat("P5\n", side, " ", side, "\n255\n");
  file.append(side * side - side, '\xFF').append(side, '\0');
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

TEST_F(UndecodedRowsTest, NothingOfAnotherFeedIsBehindAFile) {
  constexpr uint32_t kSide = 128;
  OpenRequest other = rig_.Request(kOtherPeer);
  other.feed.decoding = {.geometry = decode::Geometry::kResizeCenterCrop,
                         .height = kSide,
                         .width = kSide,
                         .resize = kSide,
                         .color = decode::Color::kGray};
  ASSERT_EQ(decode::RowBytes(other.feed.decoding), kPlace);  // so both have the same slots
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    OpenRequest request = Request(kPeer);
    request.first_epoch = other.first_epoch = epoch;  // so that no batch is found in a slot
    Fill(rig_);
    EXPECT_EQ(CountFiles(rig_.TakeAll(rig_.Open(request))), EngineRig::kSamples - 1);
    for (uint64_t sample = 0; sample < EngineRig::kSamples; ++sample)
      rig_.Become(sample, WhiteAndBlack(kSide));
    EXPECT_EQ(rig_.TakeAll(rig_.Open(other)).size(), kBatches);
  }
}

// The file is read straight into its row, by a thread that may be blocked for longer than anybody
// wants the row.
TEST_F(UndecodedRowsTest, AReadThatHangsBeyondItsSessionWritesIntoNoOtherBatch) {
  OpenRequest again = Request(kOtherPeer);
  again.first_epoch = 1;
  const std::vector<Copied> wanted = rig_.TakeAll(rig_.Open(again));
  rig_.Hang(2);
  const uint64_t left = rig_.Open(Request(kPeer));
  ASSERT_TRUE(rig_.RunUntil([this] { return rig_.hanging() == EngineRig::Hanging::kHangs; }));
  ASSERT_TRUE(rig_.engine().Close(kPeer, left, base::Now()).ok());
  for (uint64_t epoch = 2; epoch < 12; ++epoch) {  // so that free slots are in use
    OpenRequest other = rig_.Request(kOtherPeer);
    other.first_epoch = epoch;
    rig_.TakeAll(rig_.Open(other));
  }
  std::vector<uint64_t> holding;
  for (uint64_t epoch = 20; epoch < 24; ++epoch) {
    OpenRequest other = rig_.Request(kOtherPeer);
    other.first_epoch = epoch;
    holding.push_back(rig_.Open(other));
    ASSERT_TRUE(rig_.RunUntilAnnounced(holding.back(), 1));
  }
  const auto copy_all = [&] {
    std::vector<Copied> batches;
    for (const uint64_t session : holding) batches.push_back(rig_.Copy(session, 1));
    return batches;
  };
  const std::vector<Copied> before = copy_all();

  rig_.LetGo();
  ASSERT_TRUE(rig_.RunUntil([this] { return rig_.hanging() == EngineRig::Hanging::kOver; }));
  const std::vector<Copied> after = rig_.TakeAll(rig_.Open(again));

  EXPECT_EQ(copy_all(), before);
  EXPECT_EQ(after, wanted);
}

TEST_F(UndecodedRowsTest, ABadFileIsReplacedAndReportedAsAlways) {
  testing::FakeDataset::Bytes cut = FileOf(5);
  cut.resize(cut.size() / 2);
  rig_.Become(5, cut);

  const std::vector<Copied> batches = rig_.TakeAll(rig_.Open(Request(kPeer)));

  EXPECT_NE(batches[1].ids[1], 5u);
  EXPECT_EQ(CountFiles(batches), EngineRig::kSamples - 1);
  ASSERT_EQ(rig_.dataset()->quarantine.Entries().size(), 1u);
}

TEST_F(UndecodedRowsTest, WhatTheConsumerDoesNotMakeIsRefused) {
  OpenRequest request = Request(kPeer);
  request.delivery = session::Delivery::kDevice;
  EXPECT_THAT(rig_.Ask(request).status().message(), HasSubstr("DELIVERY_PINNED"));
  request = Request(kPeer);
  request.feed.decoding.color = decode::Color::kGray;
  EXPECT_THAT(rig_.Ask(request).status().message(), HasSubstr("undecoded"));
  request = Request(kPeer);
  request.feed.more_images = {"second"};
  request.feed.more_decodings = {decode::Spec{}};
  EXPECT_THAT(rig_.Ask(request).status().message(), HasSubstr("undecoded rows are for sessions"));
}

// ---- Samples on which the consumer's GPU failed. ----

constexpr uint64_t kReported = 9;
constexpr uint64_t kItsBatch = kReported / EngineRig::kBatch,
                   kItsRow = kReported % EngineRig::kBatch;

TEST_F(UndecodedRowsTest, WhatAGpuFailedOnIsDecodedByWorkersForItsUser) {
  const uint64_t session = rig_.Open(Request(kPeer));
  const std::vector<Copied> before = rig_.TakeAll(session);
  const uint64_t version = rig_.dataset()->quarantine.version();

  ASSERT_TRUE(rig_.engine().ReportUndecodable(kPeer, session, {{kReported, kReported}}).ok());

  EXPECT_EQ(rig_.dataset()->quarantine.version(), version + 1);
  const std::vector<Copied> after = rig_.TakeAll(rig_.Open(Request(kPeer)));
  const std::vector<Copied> pixels = rig_.TakeAll(rig_.Open(rig_.Request(kOtherPeer)));
  EXPECT_EQ(CountFiles(after), EngineRig::kSamples - 2);
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    EXPECT_EQ(after[batch].ids, before[batch].ids);
    EXPECT_EQ(after[batch] == before[batch], batch != kItsBatch) << batch;
  }
  const std::span<const std::byte> place = PlaceOf(after[kItsBatch], kItsRow);
  const size_t bytes = NoteOf(place).bytes;
  EXPECT_EQ(NoteOf(place).holds, shm::RowHolds::kPixels);
  EXPECT_TRUE(std::ranges::equal(
      place.first(bytes), std::span(pixels[kItsBatch].pixels).subspan(kItsRow * bytes, bytes)));
}

TEST_F(UndecodedRowsTest, AReportChangesNothingForAnotherUserOrOnTheCpu) {
  OpenRequest of_another = Request(kOtherPeer);
  of_another.user = 2000;
  const std::vector<Copied> theirs = rig_.TakeAll(rig_.Open(of_another));
  const std::vector<Copied> pixels = rig_.TakeAll(rig_.Open(rig_.Request(kPeer)));
  const uint64_t session = rig_.Open(Request(kPeer));

  ASSERT_TRUE(rig_.engine().ReportUndecodable(kPeer, session, {{kReported}}).ok());

  EXPECT_EQ(rig_.TakeAll(rig_.Open(of_another)), theirs);
  EXPECT_EQ(rig_.TakeAll(rig_.Open(rig_.Request(kPeer))), pixels);
  EXPECT_EQ(rig_.dataset()->PolicyOf(1000).bad_samples(), 0u);
}

// Batches that were filled before keep their bytes; those that follow are filled anew.
TEST_F(UndecodedRowsTest, AReportWithinASessionHoldsForItsBatchesFromThenOn) {
  const uint64_t session = rig_.Open(Request(kPeer));
  ASSERT_TRUE(rig_.RunUntilAnnounced(session, 1));
  constexpr uint64_t kLater = 33;

  ASSERT_TRUE(rig_.engine().ReportUndecodable(kPeer, session, {{kLater}}).ok());

  const std::vector<Copied> batches = rig_.TakeAll(session);
  ASSERT_EQ(batches.size(), kBatches);
  const std::span<const std::byte> place =
      PlaceOf(batches[kLater / EngineRig::kBatch], kLater % EngineRig::kBatch);
  EXPECT_EQ(NoteOf(place).holds, shm::RowHolds::kPixels);
  EXPECT_EQ(CountFiles(batches), EngineRig::kSamples - 2);
}

TEST_F(UndecodedRowsTest, AReportIsOfTheSessionsOwnerRowsAndDataset) {
  const uint64_t session = rig_.Open(Request(kPeer)), pixels = rig_.Open(rig_.Request(kPeer));
  const auto report = [&](uint64_t peer, uint64_t id, const std::vector<uint64_t>& samples) {
    return rig_.engine().ReportUndecodable(peer, id, samples);
  };

  EXPECT_TRUE(absl::IsPermissionDenied(report(kOtherPeer, session, {1})));
  EXPECT_TRUE(absl::IsNotFound(report(kPeer, session + 100, {1})));
  EXPECT_THAT(report(kPeer, pixels, {1}).message(), HasSubstr("has no undecoded rows"));
  const absl::Status outside = report(kPeer, session, {1, EngineRig::kSamples});
  EXPECT_TRUE(absl::IsInvalidArgument(outside));
  EXPECT_THAT(outside.message(), HasSubstr("got 40, but the dataset 'flowers' has only 40"));
  EXPECT_TRUE(rig_.dataset()->quarantine.Entries().empty());
}

}  // namespace
}  // namespace penstock::feed
