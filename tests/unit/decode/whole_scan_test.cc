// Files whose markers are in order but whose scan is damaged are decoded by workers, never given to
// a consumer, whose decoder would show another image's pixels where these have none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "server/decode/decoder.h"
#include "server/decode/jpeg/engine_walk.h"
#include "server/decode/undecoded.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::decode {
namespace {

using base::Fault;
using shm::RowHolds;
using testing::MakeJpeg;
using DamagedFile = std::vector<std::byte>;

constexpr Spec kScanCrop = {.height = 20, .width = 30, .flip_probability = 0.5};
constexpr Spec kScanPlaced = {
    .height = 20,
    .width = 30,
    .flip_probability = 0.5,
    .undecoded = {.place_bytes = 64 << 10, .share = UINT32_MAX, .decoder = 1}};

size_t ScanOf(const DamagedFile& file) {
  constexpr size_t kHeaderOfThree = 14;
  for (size_t at = 0; at + 1 < file.size(); ++at)
    if (file[at] == std::byte{0xFF} && file[at + 1] == std::byte{0xDA}) return at + kHeaderOfThree;
  return file.size();
}

DamagedFile CutScan(DamagedFile file, size_t percent) {
  const size_t scan = ScanOf(file);
  file.resize(scan + (file.size() - scan) * percent / 100);
  if (file.back() == std::byte{0xFF}) file.pop_back();
  file.insert(file.end(), {std::byte{0xFF}, std::byte{0xD9}});
  return file;
}

DamagedFile WithHeight(DamagedFile file, int height) {
  for (size_t at = 0; at + 1 < file.size(); ++at) {
    if (file[at] != std::byte{0xFF} || file[at + 1] != std::byte{0xC0}) continue;
    file[at + 6] = static_cast<std::byte>(height);
    break;
  }
  return file;
}

// All pass the walk through their markers.
std::vector<DamagedFile> FilesWithDamagedScans(const DamagedFile& file) {
  std::vector<DamagedFile> damaged = {CutScan(file, 30),     CutScan(file, 70),
                                      CutScan(file, 99),     WithHeight(file, 72),
                                      WithHeight(file, 100), WithHeight(file, 160)};
  DamagedFile& longer = damaged.emplace_back(file);
  longer.insert(longer.end() - 2, 3, std::byte{0});
  DamagedFile& other = damaged.emplace_back(file);
  std::fill(other.end() - 300, other.end() - 2, std::byte{0x55});
  return damaged;
}

class WholeScanTest : public ::testing::Test {
 protected:
  std::vector<std::byte> Decode(const DamagedFile& file, const Spec& spec) {
    std::vector<std::byte> row(RowBytes(spec), std::byte{0xEE});
    fault_ = decoder_.DecodeRow(file, spec, {.seed = 7, .sample = 3}, row);
    return row;
  }
  static RowHolds HeldBy(const std::vector<std::byte>& place) {
    shm::RowNote note;
    std::memcpy(&note, place.data() + place.size() - sizeof note, sizeof note);
    return note.holds;
  }
  // It is as if the GPU had not been asked.
  void ExpectDecodedHere(const DamagedFile& file) {
    std::vector<std::byte> place = Decode(file, kScanPlaced);
    const Fault fault = fault_;
    const std::vector<std::byte> row = Decode(file, kScanCrop);
    EXPECT_EQ(fault, fault_);
    if (fault != Fault::kNone) return;
    EXPECT_EQ(HeldBy(place), RowHolds::kPixels);
    place.resize(row.size());
    EXPECT_EQ(place, row);
  }

  Decoder decoder_{{.max_bytes = 1 << 20, .max_pixels = 1'000'000}};
  Fault fault_ = Fault::kNone;
};

TEST_F(WholeScanTest, DamagedScansAreDecodedHere) {
  const DamagedFile file = MakeJpeg(90, 80, {.noise = 60});
  EXPECT_EQ(HeldBy(Decode(file, kScanPlaced)), RowHolds::kJpeg);
  for (const DamagedFile& damaged : FilesWithDamagedScans(file)) {
    EXPECT_TRUE(WalkForEngines(damaged));
    ExpectDecodedHere(damaged);
  }
}

// A bit that changes may leave a whole scan, of another image; libjpeg judges.
TEST_F(WholeScanTest, WhatIsGivenAwayIsWhatLibjpegReadsWithoutAWarning) {
  std::mt19937 random(5);
  int given = 0, kept = 0;
  for (int round = 0; round < 600; ++round) {
    DamagedFile file = MakeJpeg(90, 80, {.horizontal = 1 + round % 2, .restart_rows = round % 3});
    const size_t scan = ScanOf(file);
    file[scan + random() % (file.size() - scan - 2)] ^= static_cast<std::byte>(1 << random() % 8);
    const std::vector<std::byte> place = Decode(file, kScanPlaced);
    if (fault_ != Fault::kNone || !WalkForEngines(file)) continue;
    const bool is_given = HeldBy(place) == RowHolds::kJpeg;
    EXPECT_FALSE(is_given && testing::WarningsOf(file) > 0) << round;
    ++(is_given ? given : kept);
    if (!is_given) ExpectDecodedHere(file);
  }
  EXPECT_GT(given, 20);
  EXPECT_GT(kept, 20);
}

#ifndef PENSTOCK_LIBJPEG_ALONE  // which has no checkpoints
TEST_F(WholeScanTest, CheckpointsRememberAWholeScanAndNoOther) {
  const DamagedFile file = MakeJpeg(90, 80, {});
  for (const size_t bytes : {24, 64, 1024}) {
    std::vector<std::byte> memory(bytes);
    CheckpointRoom room = {.room = memory};
    const auto decode = [&](const DamagedFile& each, const Spec& spec) {
      decoder_.UseCheckpoints(&room);
      room.changed = false;
      std::vector<std::byte> row = Decode(each, spec);
      decoder_.UseCheckpoints(nullptr);
      return row;
    };
    const std::vector<std::byte> place = decode(file, kScanPlaced);
    EXPECT_EQ(HeldBy(place), RowHolds::kJpeg);
    EXPECT_TRUE(room.changed);
    EXPECT_EQ(decode(file, kScanPlaced), place);
    EXPECT_FALSE(room.changed) << bytes;
    const std::vector<std::byte> row = decode(file, kScanCrop);  // the points serve crops, too
    EXPECT_FALSE(room.changed) << bytes;
    EXPECT_EQ(row, Decode(file, kScanCrop));
    for (const DamagedFile& damaged : FilesWithDamagedScans(file)) {
      const std::vector<std::byte> made = decode(damaged, kScanPlaced);
      EXPECT_TRUE(fault_ != Fault::kNone || HeldBy(made) == RowHolds::kPixels);
    }
  }
}
#endif

// A crop notes points down first, and then the scan is read on from the last of them.
TEST_F(WholeScanTest, AScanIsReadOnWhereACropEnded) {
  const DamagedFile file = MakeJpeg(90, 80, {.restart_rows = 2, .noise = 60});
  for (const DamagedFile& each : {file, CutScan(file, 99)}) {
    std::vector<std::byte> memory(1024);
    CheckpointRoom room = {.room = memory};
    decoder_.UseCheckpoints(&room);
    Decode(each, kScanCrop);
    const std::vector<std::byte> place = Decode(each, kScanPlaced);
    decoder_.UseCheckpoints(nullptr);
    const RowHolds wanted = each == file ? RowHolds::kJpeg : RowHolds::kPixels;
    EXPECT_TRUE(fault_ != Fault::kNone || HeldBy(place) == wanted);
  }
}

}  // namespace
}  // namespace penstock::decode
