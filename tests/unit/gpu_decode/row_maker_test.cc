// Rows of whole batches, made on an emulated device with a fake nvJPEG: what damaged files cost.
#include "client/gpu_decode/row_maker.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/files/jpeg_maker.h"
#include "tests/support/gpu_decode/across_border.h"
#include "tests/support/gpu_decode/emulated_device.h"
#include "tests/support/gpu_decode/fake_nvjpeg.h"
#include "tests/support/gpu_decode/row_cases.h"

namespace penstock::gpu_decode {
namespace {

using testing::FakeFault;
using testing::FakeHeader;

constexpr uint32_t kOutSide = 20;
constexpr size_t kOutBytes = size_t{3} * kOutSide * kOutSide;
constexpr uint64_t kArenaBytes = 1 << 20;
constexpr uint64_t kNvjpegBytes = 3 << 20;  // two states, and little more

class RowMakerTest : public ::testing::Test {
 protected:
  RowMakerOptions Options(uint32_t max_chunk) {
    return {.nvjpeg_path = FAKE_NVJPEG,
            .arena_bytes = kArenaBytes,
            .nvjpeg_bytes = kNvjpegBytes,
            .max_chunk = max_chunk};
  }

  absl::StatusOr<RowMaker> Make(const RowMakerOptions& options) {
    return RowMaker::MakeOn(testing::MakeEmulatedDevice(log_), options);
  }

  // Adds a photograph of 40 × 30 pixels, whose box of 33 × 25 pixels at (3, 2) becomes a row.
  void Add(FakeFault fault, uint32_t width = 40, uint32_t height = 30) {
    headers_.push_back({.width = width,
                        .height = height,
                        .seed = static_cast<uint32_t>(headers_.size() + 1),
                        .fault = fault});
    AddFile(testing::MakeFakeFile(headers_.back()));
  }
  // The same with a JPEG's header.
  void AddJpeg(FakeFault fault, uint32_t width, uint32_t height, int horizontal = 1) {
    Add(fault, width, height);
    inputs_.pop_back();
    files_.pop_back();
    AddFile(testing::InsertFakeFile(headers_.back(),
                                    testing::MakeJpeg(width, height, {.horizontal = horizontal})));
  }
  void AddFile(std::vector<std::byte> file) {
    files_.push_back(std::move(file));
    RowInput input;
    input.jpeg = {.file = files_.back(),
                  .width = headers_.back().width,
                  .height = headers_.back().height,
                  .left = 3,
                  .top = 2,
                  .x = {33, kOutSide, 0, kOutSide},
                  .y = {25, kOutSide, 0, kOutSide},
                  .flip = headers_.size() % 2 == 0};
    inputs_.push_back(input);
  }

  std::vector<uint8_t> Wanted(uint32_t index) const {
    return testing::ExpectedRow({testing::FakePixels(headers_[index]), inputs_[index].jpeg});
  }

  std::vector<uint8_t> Row(uint32_t index) const {
    return {rows_.begin() + index * kOutBytes, rows_.begin() + (index + 1) * kOutBytes};
  }

  std::vector<RowOutcome> MakeRows(RowMaker& maker) {
    rows_.assign(inputs_.size() * kOutBytes, 0xA5);
    auto outcomes = maker.MakeRows({inputs_, kOutSide, kOutSide, rows_.data()});
    EXPECT_TRUE(outcomes.ok()) << outcomes.status();
    return outcomes.value_or(std::vector<RowOutcome>(inputs_.size()));
  }

  // All rows but `bad` ones must be right, and those must be zeros.
  void ExpectRows(const std::vector<RowOutcome>& outcomes, const std::vector<uint32_t>& bad,
                  RowResult result) {
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      if (std::find(bad.begin(), bad.end(), i) == bad.end()) {
        EXPECT_EQ(outcomes[i].result, RowResult::kOk) << i << ": " << outcomes[i].why;
        EXPECT_EQ(Row(i), Wanted(i)) << i;
      } else {
        EXPECT_EQ(outcomes[i].result, result) << i;
        EXPECT_FALSE(outcomes[i].why.empty()) << i;
        EXPECT_EQ(Row(i), std::vector<uint8_t>(kOutBytes, 0)) << i;
      }
    }
  }

  // Twelve files, of which those at 2 and 7 have the fault.
  void AddTwelve(FakeFault fault) {
    for (uint32_t i = 0; i < 12; ++i) Add(i == 2 || i == 7 ? fault : FakeFault::kNone);
  }

  testing::DeviceLog log_;
  std::vector<FakeHeader> headers_;
  std::vector<std::vector<std::byte>> files_;
  std::vector<RowInput> inputs_;
  std::vector<uint8_t> rows_;
};

TEST_F(RowMakerTest, MakesTheCpusRowsInAsFewCallsAndLaunchesAsChunks) {
  RowMaker maker = *Make(Options(5));
  AddTwelve(FakeFault::kNone);

  ExpectRows(MakeRows(maker), {}, RowResult::kOk);
  EXPECT_EQ(maker.counts().calls, 3u);
  EXPECT_EQ(maker.counts().decoded, 12u);
  EXPECT_EQ(log_.launches, 3);
}

// A place of the pool lies across a border now and then.
TEST_F(RowMakerTest, AFileAcrossTwoRegisteredPiecesIsDecodedAtOnce) {
  testing::AcrossBorder memory;
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kNone);
  inputs_[3].jpeg.file = memory.Put(files_[3]);

  ExpectRows(MakeRows(maker), {}, RowResult::kOk);
  EXPECT_EQ(maker.counts().calls, 1u);
  ExpectRows(MakeRows(maker), {}, RowResult::kOk);
  EXPECT_EQ(maker.counts().failed_calls, 0u);
}

TEST_F(RowMakerTest, NvjpegIsNotAskedAboutKindsOfFilesThatItHasTaken) {
  RowMaker maker = *Make(Options(64));
  AddJpeg(FakeFault::kNone, 100, 80);
  AddJpeg(FakeFault::kNone, 80, 100);
  AddJpeg(FakeFault::kUnsupported, 90, 90);  // nobody asks
  AddJpeg(FakeFault::kUnsupported, 101, 90);
  AddJpeg(FakeFault::kUnsupported, 101, 90);    // wider than those that were taken, …
  AddJpeg(FakeFault::kUnsupported, 79, 90);     // narrower, …
  AddJpeg(FakeFault::kUnsupported, 90, 101);    // taller, …
  AddJpeg(FakeFault::kUnsupported, 90, 79);     // less tall
  AddJpeg(FakeFault::kUnsupported, 90, 90, 2);  // another sampling
  AddJpeg(FakeFault::kNone, 90, 90);
  inputs_.back().jpeg.width = 91;  // not what its header says
  AddJpeg(FakeFault::kNone, 90, 90);
  inputs_.back().jpeg.height = 91;
  AddJpeg(FakeFault::kUnsupported, 90, 90);
  files_.back()[6 + sizeof(FakeHeader)] = std::byte{0};  // no marker follows the comment

  ExpectRows(MakeRows(maker), {3, 4, 5, 6, 7, 8, 9, 10, 11}, RowResult::kRefused);
}

TEST_F(RowMakerTest, CopiesFinishedRows) {
  RowMaker maker = *Make(Options(64));
  const std::vector<uint8_t> finished(kOutBytes, 0x3C);
  AddTwelve(FakeFault::kNone);
  inputs_[4].pixels = inputs_[11].pixels = finished.data();

  const std::vector<RowOutcome> outcomes = MakeRows(maker);
  EXPECT_EQ(Row(4), finished);
  EXPECT_EQ(Row(11), finished);
  EXPECT_EQ(Row(5), Wanted(5));
  EXPECT_EQ(outcomes[4].result, RowResult::kOk);
  EXPECT_EQ(log_.launches, 1);
}

TEST_F(RowMakerTest, ABatchOfFinishedRowsNeedsNoDecoding) {
  RowMaker maker = *Make(Options(64));
  const std::vector<uint8_t> finished(kOutBytes, 0x3C);
  for (int i = 0; i < 600; ++i) inputs_.push_back({.pixels = finished.data()});

  MakeRows(maker);
  for (uint32_t i = 0; i < 600; ++i) ASSERT_EQ(Row(i), finished) << i;
  EXPECT_EQ(maker.counts().calls, 0u);
}

TEST_F(RowMakerTest, AFileThatFailsItsCallCostsNoOtherRow) {
  for (const FakeFault fault :
       {FakeFault::kFailsCall, FakeFault::kFailsCallAfter, FakeFault::kSpoilsDecoder}) {
    headers_.clear();
    files_.clear();
    inputs_.clear();
    RowMaker maker = *Make(Options(64));
    AddTwelve(fault);
    ExpectRows(MakeRows(maker), {2, 7}, RowResult::kFailed);
  }
}

TEST_F(RowMakerTest, RetriesAreBounded) {
  RowMaker maker = *Make(Options(64));
  for (int i = 0; i < 64; ++i) Add(FakeFault::kSpoilsDecoder);

  const std::vector<RowOutcome> outcomes = MakeRows(maker);
  EXPECT_EQ(maker.counts().failed, 64u);
  EXPECT_EQ(maker.counts().calls, 1u + 8 + 64);
  EXPECT_NE(outcomes[0].why.find("execution failed"), std::string::npos) << outcomes[0].why;
}

TEST_F(RowMakerTest, AnImageThatIsNotWrittenAsAWholeIsFoundAlthoughTheCallSucceeds) {
  for (const FakeFault fault : {FakeFault::kLeftOut, FakeFault::kEndsEarly}) {
    headers_.clear();
    files_.clear();
    inputs_.clear();
    RowMaker maker = *Make(Options(64));
    AddTwelve(fault);
    const std::vector<RowOutcome> outcomes = MakeRows(maker);
    ExpectRows(outcomes, {2, 7}, RowResult::kFailed);
    EXPECT_NE(outcomes[2].why.find("parts unwritten"), std::string::npos) << outcomes[2].why;
    EXPECT_EQ(maker.counts().calls, 3u);
  }
}

TEST_F(RowMakerTest, AnImageThatWasLeftOutForAnothersSakeIsDecodedAlone) {
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kLeftOutAmongOthers);

  ExpectRows(MakeRows(maker), {}, RowResult::kOk);
  EXPECT_EQ(maker.counts().unwritten_images, 2u);
}

TEST_F(RowMakerTest, WhatNvjpegDoesNotTakeIsRefusedBeforeItHarmsACall) {
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kUnsupported);
  Add(FakeFault::kBadHeader);
  Add(FakeFault::kNone);
  inputs_.back().jpeg.file = {};

  ExpectRows(MakeRows(maker), {2, 7, 12, 13}, RowResult::kRefused);
  EXPECT_EQ(maker.counts().failed_calls, 0u);
}

TEST_F(RowMakerTest, ASizeOtherThanAnnouncedIsRefused) {
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kNone);
  inputs_[3].jpeg.height = 29;

  const std::vector<RowOutcome> outcomes = MakeRows(maker);
  ExpectRows(outcomes, {3}, RowResult::kRefused);
  EXPECT_NE(outcomes[3].why.find("got 40 x 30, expected 40 x 29"), std::string::npos)
      << outcomes[3].why;
}

TEST_F(RowMakerTest, BoxesOutsideOfTheImageAndOtherRowsAreRefused) {
  RowMaker maker = *Make(Options(64));
  for (int i = 0; i < 9; ++i) Add(FakeFault::kNone);
  inputs_[0].jpeg.left = 8;  // 41 of 40 columns
  inputs_[1].jpeg.top = UINT32_MAX;
  inputs_[2].jpeg.x.in = 0;
  inputs_[3].jpeg.x.count = kOutSide - 1;
  inputs_[4].jpeg.y = {25, kOutSide, 1, kOutSide};
  inputs_[5].jpeg.x = {33, UINT32_MAX, UINT32_MAX - 5, kOutSide};

  ExpectRows(MakeRows(maker), {0, 1, 2, 3, 4, 5}, RowResult::kRefused);
}

TEST_F(RowMakerTest, AnImageBeyondTheArenaIsRefusedAndOthersAreDividedToFit) {
  RowMaker maker = *Make(Options(64));
  Add(FakeFault::kNone, 2000, 200);
  for (int i = 0; i < 4; ++i) Add(FakeFault::kNone, 400, 300);  // two fit at once

  const std::vector<RowOutcome> outcomes = MakeRows(maker);
  ExpectRows(outcomes, {0}, RowResult::kRefused);
  EXPECT_NE(outcomes[0].why.find("too large"), std::string::npos) << outcomes[0].why;
  EXPECT_EQ(maker.counts().calls, 2u);
}

TEST_F(RowMakerTest, MemoryIsCountedLimitedAndReturned) {
  {
    RowMaker maker = *Make(Options(64));
    AddTwelve(FakeFault::kSpoilsDecoder);
    MakeRows(maker);
    EXPECT_EQ(maker.bytes_in_use(), log_.bytes_in_use);
    EXPECT_GT(maker.bytes_in_use(), kArenaBytes + (1u << 20));
    EXPECT_LE(maker.most_bytes_in_use(), kArenaBytes + kNvjpegBytes + (9u << 20));
  }
  EXPECT_EQ(log_.bytes_in_use, 0u);
  EXPECT_EQ(log_.pinned_blocks, 0);

  RowMakerOptions options = Options(64);
  options.nvjpeg_bytes = 1000;
  EXPECT_EQ(Make(options).status().code(), absl::StatusCode::kResourceExhausted);
  log_.memory_limit = kArenaBytes / 2;
  EXPECT_EQ(Make(Options(64)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(log_.bytes_in_use, 0u);
}

TEST_F(RowMakerTest, AFailureOfTheGpuIsAnErrorOfTheBatch) {
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kNone);
  log_.sync_fails = true;
  rows_.assign(inputs_.size() * kOutBytes, 0);

  EXPECT_EQ(maker.MakeRows({inputs_, kOutSide, kOutSide, rows_.data()}).status().code(),
            absl::StatusCode::kInternal);
}

TEST_F(RowMakerTest, AfterAnErrorTheNextBatchWritesNothingOfTheLastOne) {
  RowMaker maker = *Make(Options(64));
  const std::vector<uint8_t> finished(kOutBytes, 0x3C);
  for (int i = 0; i < 3; ++i) Add(FakeFault::kFailsCall);
  inputs_[0].pixels = finished.data();
  std::vector<uint8_t> first(3 * kOutBytes, 0);
  log_.sync_fails = true;
  EXPECT_FALSE(maker.MakeRows({inputs_, kOutSide, kOutSide, first.data()}).ok());
  log_.sync_fails = false;
  first.assign(first.size(), 0);
  headers_.clear();
  files_.clear();
  inputs_.clear();
  AddTwelve(FakeFault::kNone);

  ExpectRows(MakeRows(maker), {}, RowResult::kOk);
  EXPECT_EQ(first, std::vector<uint8_t>(3 * kOutBytes, 0));
}

TEST_F(RowMakerTest, ADecoderThatCannotBeMadeAgainIsMadeForTheNextBatch) {
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kFailsCall);
  rows_.assign(inputs_.size() * kOutBytes, 0);
  log_.memory_limit = log_.bytes_in_use - 1;  // enough for what there is, but not for a new decoder
  EXPECT_EQ(maker.MakeRows({inputs_, kOutSide, kOutSide, rows_.data()}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(maker.MakeRows({inputs_, kOutSide, kOutSide, rows_.data()}).status().code(),
            absl::StatusCode::kResourceExhausted);

  log_.memory_limit = SIZE_MAX;
  ExpectRows(MakeRows(maker), {2, 7}, RowResult::kFailed);
}

TEST_F(RowMakerTest, TheNextBatchAfterAFailureIsRight) {
  RowMaker maker = *Make(Options(64));
  AddTwelve(FakeFault::kSpoilsDecoder);
  MakeRows(maker);
  headers_.clear();
  files_.clear();
  inputs_.clear();
  AddTwelve(FakeFault::kNone);

  ExpectRows(MakeRows(maker), {}, RowResult::kOk);
}

TEST_F(RowMakerTest, SaysItsVersionAndBackend) {
  EXPECT_EQ(Make(Options(64))->version(), "nvJPEG 99.1.2, engines, replicated chroma");
  RowMakerOptions options = Options(64);
  options.chroma = JpegChroma::kInterpolated;
  EXPECT_EQ(Make(options)->version(), "nvJPEG 99.1.2, engines, interpolated chroma");
  options.backend = JpegBackend::kCuda;  // which the fake has not
  EXPECT_EQ(Make(options).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RowMakerTest, OptionsOutOfRangeAreRefused) {
  EXPECT_EQ(Make(Options(0)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Make(Options(257)).status().code(), absl::StatusCode::kInvalidArgument);
  RowMakerOptions options = Options(64);
  options.arena_bytes = 0;
  EXPECT_EQ(Make(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::gpu_decode
