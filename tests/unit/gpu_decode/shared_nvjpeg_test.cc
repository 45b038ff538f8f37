// Makers that share an nvJPEG: rows are right whoever else decodes, fails, or is gone.
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "client/gpu_decode/row_maker.h"
#include "tests/support/gpu_decode/emulated_device.h"
#include "tests/support/gpu_decode/fake_nvjpeg.h"
#include "tests/support/gpu_decode/row_cases.h"

namespace penstock::gpu_decode {
namespace {

using testing::FakeFault;
using testing::FakeHeader;

constexpr uint32_t kOutSide = 12;
constexpr size_t kOutBytes = size_t{3} * kOutSide * kOutSide;
constexpr size_t kFiles = 10, kDamaged = 4;

// Files of 24 × 18 pixels, of which that at kDamaged has the fault, and their rows.
class SharedBatch {
 public:
  SharedBatch(uint32_t seed, FakeFault fault) {
    for (uint32_t i = 0; i < kFiles; ++i) {
      headers_.push_back({.width = 24,
                          .height = 18,
                          .seed = seed + i,
                          .fault = i == kDamaged ? fault : FakeFault::kNone});
      files_.push_back(testing::MakeFakeFile(headers_.back()));
    }
    for (const std::vector<std::byte>& file : files_) {
      inputs_.push_back({.jpeg = {.file = file,
                                  .width = 24,
                                  .height = 18,
                                  .x = {24, kOutSide, 0, kOutSide},
                                  .y = {18, kOutSide, 0, kOutSide}}});
    }
  }

  // Makes the rows, and says what is wrong with them; nothing if all is well.
  std::string Make(RowMaker& maker) {
    rows_.assign(kFiles * kOutBytes, 0xA5);
    const auto outcomes = maker.MakeRows({inputs_, kOutSide, kOutSide, rows_.data()});
    if (!outcomes.ok()) return outcomes.status().ToString();
    for (uint32_t i = 0; i < kFiles; ++i) {
      const bool damaged = headers_[i].fault != FakeFault::kNone;
      if (((*outcomes)[i].result == RowResult::kFailed) != damaged)
        return absl::StrCat("row ", i, ": ", (*outcomes)[i].why);
      if (Row(i) != Wanted(i)) return absl::StrCat("row ", i, " has other bytes");
    }
    return "";
  }

 private:
  std::vector<uint8_t> Row(uint32_t index) const {
    return {rows_.begin() + index * kOutBytes, rows_.begin() + (index + 1) * kOutBytes};
  }
  std::vector<uint8_t> Wanted(uint32_t index) const {
    if (headers_[index].fault != FakeFault::kNone) return std::vector<uint8_t>(kOutBytes, 0);
    return testing::ExpectedRow({testing::FakePixels(headers_[index]), inputs_[index].jpeg});
  }

  std::vector<FakeHeader> headers_;
  std::vector<std::vector<std::byte>> files_;
  std::vector<RowInput> inputs_;
  std::vector<uint8_t> rows_;
};

class SharedNvjpegTest : public ::testing::Test {
 protected:
  RowMaker MakeFirst() {
    const RowMakerOptions options = {
        .nvjpeg_path = FAKE_NVJPEG,
        .arena_bytes = 1 << 18,
        .nvjpeg_bytes = 5 << 19,  // one decoder's, and not two decoders'
        .max_chunk = 4};
    return *RowMaker::MakeOn(testing::MakeEmulatedDevice(log_), options);
  }
  RowMaker MakeSecond(const RowMaker& first) {
    return *first.MakeAnotherOn(testing::MakeEmulatedDevice(log_));
  }

  testing::DeviceLog log_;
};

TEST_F(SharedNvjpegTest, MakersOnTwoThreadsMakeTheirOwnRows) {
  RowMaker first = MakeFirst(), second = MakeSecond(first);
  std::string said[2];
  const auto work = [](RowMaker& maker, uint32_t seed, FakeFault fault, std::string& wrong) {
    for (uint32_t i = 0; i < 20 && wrong.empty(); ++i) {
      wrong = SharedBatch(seed + 100 * i, i % 3 == 0 ? fault : FakeFault::kNone).Make(maker);
    }
  };
  std::thread other([&] { work(second, 50'000, FakeFault::kFailsCall, said[1]); });
  work(first, 1, FakeFault::kSpoilsDecoder, said[0]);
  other.join();

  EXPECT_EQ(said[0], "");
  EXPECT_EQ(said[1], "");
  EXPECT_GT(first.counts().failed_calls, 0u);
  EXPECT_GT(second.counts().failed_calls, 0u);
}

TEST_F(SharedNvjpegTest, WhatOneMakerSpoiltIsMadeAnewForTheOther) {
  RowMaker first = MakeFirst(), second = MakeSecond(first);
  EXPECT_EQ(SharedBatch(1, FakeFault::kSpoilsDecoder).Make(first), "");
  EXPECT_EQ(SharedBatch(2, FakeFault::kNone).Make(second), "");
  EXPECT_EQ(second.counts().failed_calls, 0u);
}

TEST_F(SharedNvjpegTest, ADecoderThatOneMakerCouldNotMakeAnewIsMadeForTheOther) {
  RowMaker first = MakeFirst(), second = MakeSecond(first);
  log_.memory_limit = log_.bytes_in_use - 1;
  EXPECT_NE(SharedBatch(1, FakeFault::kSpoilsDecoder).Make(first).find("RESOURCE_EXHAUSTED"),
            std::string::npos);
  log_.memory_limit = SIZE_MAX;
  EXPECT_EQ(SharedBatch(2, FakeFault::kNone).Make(second), "");
}

TEST_F(SharedNvjpegTest, ItLivesAsLongAsAMakerUsesItAndIsCountedOnce) {
  {
    RowMaker first = MakeFirst();
    const uint64_t alone = first.bytes_in_use();
    RowMaker second = MakeSecond(first);
    EXPECT_EQ(first.bytes_in_use(), alone);
    EXPECT_EQ(first.bytes_in_use() + second.bytes_in_use(), log_.bytes_in_use);
    EXPECT_EQ(second.version(), first.version());
    { const RowMaker ended = std::move(first); }
    EXPECT_EQ(SharedBatch(3, FakeFault::kFailsCall).Make(second), "");
  }
  EXPECT_EQ(log_.bytes_in_use, 0u);
  EXPECT_EQ(log_.pinned_blocks, 0);
}

}  // namespace
}  // namespace penstock::gpu_decode
