// A scan's bytes without stuffed bytes, however many are taken at a time.
#include "server/decode/jpeg/scan_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock::decode {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kPiece = 700;  // bytes taken at a time

Bytes RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = random() % 5 == 0 ? 0xFF : static_cast<uint8_t>(random());
  return bytes;
}

Bytes Stuffed(const Bytes& bytes) {
  Bytes stuffed;
  for (const uint8_t byte : bytes) {
    stuffed.push_back(byte);
    if (byte == 0xFF) stuffed.push_back(0);
  }
  return stuffed;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Takes the next `size` bytes.
Bytes Take(ScanBytes& scan, size_t size) {
  Bytes taken;
  while (taken.size() < size) {
    scan.Prepare();
    const size_t piece = std::min(kPiece, size - taken.size());
    const uint8_t* first = scan.bytes() + scan.position() / 8;
    taken.insert(taken.end(), first, first + piece);
    scan.set_position(scan.position() + 8 * piece);
  }
  return taken;
}

class ScanBytesTest : public ::testing::Test {
 protected:
  void Begin(const Bytes& bytes) {
    data_ = bytes;
    scan_.Begin(data_);
  }

  Bytes data_;
  ScanBytes scan_;
};

TEST_F(ScanBytesTest, AnEmptyScanHasNothingToTake) {
  Begin({});
  scan_.Prepare();
  EXPECT_FALSE(scan_.overrun());

  scan_.set_position(1);
  EXPECT_TRUE(scan_.overrun());
}

TEST_F(ScanBytesTest, WhatWasStuffedInIsLeftOut) {
  for (const size_t size : {1, 699, 700, 5711, 5712, 5713, 8191, 8192, 8193, 30'000}) {
    const Bytes bytes = RandomBytes(size, static_cast<uint32_t>(size));
    Begin(Stuffed(bytes));

    EXPECT_EQ(Take(scan_, size), bytes);
    EXPECT_FALSE(scan_.overrun());
  }
}

TEST_F(ScanBytesTest, SeekReturnsToWhereItWas) {
  const Bytes bytes = RandomBytes(30'000, 4);
  Begin(Stuffed(bytes));
  std::vector<std::pair<size_t, uint64_t>> places;  // in `bytes`, and in the scan
  for (size_t at = 0; at < 20'000; at += 331) {
    places.emplace_back(at, scan_.PositionInScan());
    Take(scan_, 331);
  }
  std::shuffle(places.begin(), places.end(), std::mt19937(5));

  for (const auto& [at, position] : places) {
    scan_.Seek(position);
    EXPECT_EQ(scan_.PositionInScan(), position);
    EXPECT_EQ(Take(scan_, 9'000), Bytes(bytes.begin() + at, bytes.begin() + at + 9'000));
  }
}

TEST_F(ScanBytesTest, SeekFindsABitAndARestart) {
  Begin(Bytes{0x12, 0xFF, 0x00, 0xA5, 0xFF, 0xD0, 0x34});
  scan_.Prepare();
  scan_.set_position(8 * 2 + 3);
  const uint64_t position = scan_.PositionInScan();
  EXPECT_EQ(position, 8u * 3 + 3);
  ASSERT_TRUE(scan_.Restart(0));
  Take(scan_, 1);

  scan_.Seek(position);
  EXPECT_EQ(scan_.position() % 8, 3u);
  ASSERT_TRUE(scan_.Restart(0));
  EXPECT_EQ(Take(scan_, 1), Bytes{0x34});
}

TEST_F(ScanBytesTest, SeekBeyondTheScanFindsNothing) {
  Begin({0x12, 0x34});
  for (const uint64_t position : {uint64_t{16}, uint64_t{17}, UINT64_MAX}) {
    scan_.Seek(position);
    scan_.Prepare();
    scan_.set_position(scan_.position() + 1);
    EXPECT_TRUE(scan_.overrun());
  }
}

TEST_F(ScanBytesTest, BehindTheEndStandZerosThatAreAnOverrun) {
  const Bytes bytes = RandomBytes(1000, 1);
  Begin(Stuffed(bytes));
  Take(scan_, 1000);

  EXPECT_EQ(Take(scan_, ScanBytes::kMostAhead - kPiece), Bytes(ScanBytes::kMostAhead - kPiece));
  EXPECT_TRUE(scan_.overrun());
}

TEST_F(ScanBytesTest, AMarkerEndsASegmentAndIsPassedWhenItIsItsTurn) {
  for (const size_t size : {1, 8191, 8192, 8193, 9000}) {
    const Bytes first = RandomBytes(size, 2);
    const Bytes second = RandomBytes(100, 3);
    Begin(Stuffed(first) + Bytes{0xFF, 0xD0} + Stuffed(second));

    EXPECT_EQ(Take(scan_, size), first);
    ASSERT_TRUE(scan_.Restart(0)) << size;
    EXPECT_EQ(Take(scan_, 100), second);
  }
}

TEST_F(ScanBytesTest, TheLastBitsOfASegmentsLastByteNeedNotBeTaken) {
  Begin({0x12, 0x34, 0xFF, 0xD7, 0x56});
  scan_.Prepare();
  scan_.set_position(9);

  ASSERT_TRUE(scan_.Restart(7));
  EXPECT_EQ(Take(scan_, 1), Bytes{0x56});
}

TEST_F(ScanBytesTest, AnotherMarkerOrNoneOrBytesThatAreLeftAreNoRestart) {
  const std::pair<Bytes, uint64_t> cases[] = {
      {{0x12, 0xFF, 0xD1}, 8},        // another number
      {{0x12, 0xFF, 0xD8}, 8},        // not a restart marker
      {{0x12, 0xFF, 0xFF, 0xD0}, 8},  // preceded by a fill byte
      {{0x12, 0xFF}, 8},              // half of one
      {{0x12}, 8},
      {{0x12, 0x34, 0xFF, 0xD0}, 8},   // one byte is left
      {{0x12, 0x34, 0xFF, 0xD0}, 24},  // more was taken than there was
  };
  for (const auto& [bytes, taken] : cases) {
    Begin(bytes);
    scan_.Prepare();
    scan_.set_position(taken);
    EXPECT_FALSE(scan_.Restart(0)) << ::testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace penstock::decode
