// Checkpoints as bytes: they come back for their own file only; and points that are wrong.
#include "server/decode/jpeg/checkpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "common/base/hash.h"
#include "server/decode/jpeg/rice_codes.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/jpeg_window.h"

namespace penstock::decode {
namespace {

using Checkpoint = Checkpoints::Checkpoint;
using PackedBytes = std::vector<std::byte>;

constexpr Checkpoints::BaselineScan kThousand = {
    .file_sum = 7, .bytes = 100'000, .mcus = 1000, .components = 3};

// The n-th point.
Checkpoint PointAt(uint32_t n) {
  const auto dc = static_cast<int32_t>(n);
  return {.position = 1000 * uint64_t{n}, .dc = {dc, -dc, 1023}};
}

// Meets the first `count` points.
void MeetSome(Checkpoints& points, uint32_t count) {
  for (uint32_t n = 1; n <= count; ++n) {
    ASSERT_TRUE(points.Meet(n * points.grid().spacing, PointAt(n)));
  }
}

PackedBytes Written(const Checkpoints& points, size_t room) {
  PackedBytes bytes(room);
  bytes.resize(points.Write(bytes));
  return bytes;
}

TEST(CheckpointsTest, ComeBackAsTheyWereAndAreExtended) {
  for (const uint32_t components : {1u, 2u, 3u}) {
    Checkpoints::BaselineScan scan = kThousand;
    scan.components = components;
    Checkpoints points;
    points.Begin(scan, {}, 400);
    const uint32_t spacing = points.grid().spacing;
    for (uint32_t n = 1; n <= 20; ++n) {
      Checkpoint point = PointAt(n);
      for (size_t i = components; i < point.dc.size(); ++i) point.dc[i] = 0;
      ASSERT_TRUE(points.Meet(n * spacing, point));
    }
    EXPECT_TRUE(points.has_more());
    const PackedBytes bytes = Written(points, 400);
    ASSERT_FALSE(bytes.empty());

    Checkpoints again;
    again.Begin(scan, bytes, 50);  // the spacing is that of the bytes
    EXPECT_EQ(again.grid().spacing, spacing);
    EXPECT_FALSE(again.has_more());
    EXPECT_EQ(again.Before(spacing - 1).point, nullptr);
    const Checkpoints::Found found = again.Before(20 * spacing + 3);
    ASSERT_NE(found.point, nullptr);
    EXPECT_EQ(found.mcu, 20 * spacing);
    EXPECT_EQ(found.point->position, PointAt(20).position);
    EXPECT_EQ(found.point->dc[0], 20);
    EXPECT_TRUE(again.Meet(21 * spacing, {.position = 25'000, .dc = {}}));
    EXPECT_TRUE(again.has_more());
    EXPECT_EQ(again.Before(kThousand.mcus).mcu, 21 * spacing);
  }
}

TEST(CheckpointsTest, MayBeginAnywhere) {
  Checkpoints points;
  points.BeginOn(kThousand, {.first = 7, .spacing = 30});
  EXPECT_TRUE(points.Meet(7, PointAt(1)));
  EXPECT_TRUE(points.Meet(37, PointAt(2)));
  const PackedBytes bytes = Written(points, 100);
  Checkpoints again;
  again.Begin(kThousand, bytes, 100);
  EXPECT_EQ(again.Before(6).point, nullptr);
  EXPECT_EQ(again.Before(7).mcu, 7u);
  EXPECT_EQ(again.Before(36).mcu, 7u);
  EXPECT_EQ(again.Before(999).mcu, 37u);
  EXPECT_EQ(again.Before(999).point->position, PointAt(2).position);
}

TEST(CheckpointsTest, AllPointsFitIntoTheRoom) {
  for (const size_t room : {0u, 15u, 16u, 100u, 209u, 1024u, 100'000u}) {
    Checkpoints points;
    points.Begin(kThousand, {}, room);
    const uint32_t count = (kThousand.mcus - 1) / points.grid().spacing;
    MeetSome(points, count);
    const size_t bytes = Written(points, room).size();
    EXPECT_LE(bytes, room);
    EXPECT_EQ(bytes > 16, room > 16);
  }
}

TEST(CheckpointsTest, AreIgnoredForAnotherFileOrIfOneBitIsWrong) {
  Checkpoints points;
  points.Begin(kThousand, {}, 200);
  MeetSome(points, 10);
  const PackedBytes bytes = Written(points, 200);
  const auto takes = [](const Checkpoints::BaselineScan& scan, const PackedBytes& from) {
    Checkpoints again;
    again.Begin(scan, from, 200);
    return again.Before(scan.mcus).point != nullptr;
  };
  ASSERT_TRUE(takes(kThousand, bytes));

  Checkpoints::BaselineScan other = kThousand;
  other.file_sum = 8;
  EXPECT_FALSE(takes(other, bytes));
  other = kThousand;
  other.bytes = 10'000 / 8;  // the last point is behind it
  EXPECT_FALSE(takes(other, bytes));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    PackedBytes wrong = bytes;
    wrong[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(takes(kThousand, wrong)) << bit;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(takes(kThousand, PackedBytes(bytes.begin(), bytes.begin() + size)));
  }
}

TEST(CheckpointsTest, APointThatDiffersIsSeen) {
  Checkpoints points;
  points.Begin(kThousand, {}, 200);
  MeetSome(points, 3);
  EXPECT_TRUE(points.Meet(2 * points.grid().spacing, PointAt(2)));
  Checkpoint point = PointAt(2);
  ++point.position;
  EXPECT_FALSE(points.Meet(2 * points.grid().spacing, point));
  point = PointAt(2);
  ++point.dc[2];
  EXPECT_FALSE(points.Meet(2 * points.grid().spacing, point));
}

TEST(CheckpointsTest, TheRecordEndsBeforeAPointThatIsTooFar) {
  for (const uint64_t position : {uint64_t{1} << 28, uint64_t{1} << 40}) {
    Checkpoints points;
    points.Begin(kThousand, {}, 200);
    EXPECT_TRUE(points.Meet(points.grid().first, {.position = position, .dc = {}}));
    EXPECT_TRUE(points.Meet(2 * points.grid().spacing, PointAt(2)));
    EXPECT_FALSE(points.has_more());
  }
}

TEST(CheckpointsTest, PointsWithoutRoomAreLeftOut) {
  Checkpoints points;
  points.BeginOn(kThousand, {.first = 1, .spacing = 1});
  for (uint32_t mcu = 1; mcu < 900; ++mcu) ASSERT_TRUE(points.Meet(mcu, PointAt(mcu)));
  for (const size_t room : {0u, 23u, 24u, 25u, 44u, 100u, 101u, 500u}) {
    const PackedBytes bytes = Written(points, room);
    EXPECT_LE(bytes.size(), room);
    EXPECT_EQ(bytes.empty(), room < 24);
    Checkpoints again;
    again.Begin(kThousand, bytes, 0);
    const Checkpoints::Found last = again.Before(999);
    if (room < 44) continue;
    ASSERT_NE(last.point, nullptr);
    EXPECT_EQ(*last.point, PointAt(last.mcu));
    // With the same room there is nothing to gain.
    EXPECT_TRUE(again.Meet(last.mcu + 1, PointAt(last.mcu + 1)));
    EXPECT_EQ(Written(again, room).size(), 0u);
  }
}

TEST(RiceCodesTest, NumbersComeBack) {
  std::mt19937 random(1);
  for (uint32_t low = 0; low <= kMostLow; ++low) {
    std::vector<uint32_t> numbers = {0, 1, UINT32_MAX, kEscape << low, (kEscape << low) - 1};
    for (int i = 0; i < 100; ++i) numbers.push_back(random() % (uint64_t{30} << low));
    PackedBytes bytes(5000);
    RiceWriter writer(bytes);
    uint64_t bits = 0;
    for (const uint32_t number : numbers) {
      writer.Put(number, low);
      bits += RiceWriter::BitsOf(number, low);
    }
    bytes.resize(writer.End());
    EXPECT_EQ(bytes.size(), (bits + 7) / 8);
    RiceReader reader(bytes);
    for (const uint32_t number : numbers) EXPECT_EQ(reader.Take(low), number);
    EXPECT_TRUE(reader.ok());
    for (int i = 0; i < 9; ++i) reader.Take(low);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(RiceCodesTest, TheLengthSuitsTheNumbers) {
  for (const uint32_t mean : {1u, 10u, 100u, 10'000u, 1'000'000u}) {
    std::mt19937 random(mean);
    std::exponential_distribution<double> distances(1.0 / mean);
    const uint32_t low = LowBitsFor(mean);
    PackedBytes bytes(10'000);
    RiceWriter writer(bytes);
    for (int i = 0; i < 1000; ++i) writer.Put(static_cast<uint32_t>(distances(random)), low);
    EXPECT_LT(8.0 * static_cast<double>(writer.End()) / 1000, std::log2(mean) + 2.2) << mean;
  }
}

#ifndef PENSTOCK_LIBJPEG_ALONE

constexpr uint32_t kSide = 160;

// Of the file's only scan.
uint64_t ScanBytesOf(const PackedBytes& file) {
  const std::byte start[] = {std::byte{0xFF}, std::byte{0xDA}};
  const auto at = std::search(file.begin(), file.end(), std::begin(start), std::end(start));
  constexpr int kHeader = 14, kEndMarker = 2;  // of three components
  return static_cast<uint64_t>(file.end() - at) - kHeader - kEndMarker;
}

std::vector<uint8_t> Decode(JpegReader& reader, const PackedBytes& file, const Box& box) {
  std::vector<uint8_t> pixels;
  EXPECT_EQ(reader.ReadHeader(file), base::Fault::kNone);
  EXPECT_EQ(testing::ReadWindow(reader, box, pixels), base::Fault::kNone);
  return pixels;
}

// Only a hijacked worker could write such: the sums are right, the places are wrong.
TEST(WrongPointsTest, HarmNothingAndMostAreSeen) {
  std::mt19937 random(3);
  int dropped = 0;
  for (int round = 0; round < 200; ++round) {
    const testing::JpegOptions options = {.vertical = 2, .restart_rows = round % 2};
    const PackedBytes file = testing::MakeJpeg(kSide, kSide, options, random());
    Checkpoints points;
    points.Begin({.file_sum = base::Hash(file),
                  .bytes = ScanBytesOf(file),
                  .mcus = kSide / 8 * kSide / 16,
                  .components = 3},
                 {}, 300);
    uint64_t position = 0;
    for (uint32_t mcu = points.grid().spacing; mcu < kSide / 8 * kSide / 16;
         mcu += points.grid().spacing) {
      position += 1 + random() % 300;
      points.Meet(mcu, {.position = position, .dc = {static_cast<int32_t>(random() % 1024)}});
    }
    PackedBytes room(300);
    CheckpointRoom used = {.room = room, .bytes = points.Write(room)};
    ASSERT_GT(used.bytes, 100u);
    JpegReader reader(100);
    reader.UseCheckpoints(&used);
    Decode(reader, file, {0, kSide - 20, kSide, 20});
    dropped += used.changed && used.bytes == 0;
  }
  EXPECT_GT(dropped, 100);
}

TEST(WrongPointsTest, ADecoderThatPassesOneReadsFromTheStart) {
  const PackedBytes file = testing::MakeJpeg(kSide, kSide, {}, 1);
  const Box all = {0, 0, kSide, kSide};
  JpegReader plain(100);
  const std::vector<uint8_t> right = Decode(plain, file, all);
  PackedBytes room(300);
  CheckpointRoom used = {.room = room};
  JpegReader reader(100);
  reader.UseCheckpoints(&used);
  EXPECT_EQ(Decode(reader, file, all), right);
  ASSERT_TRUE(used.changed && used.bytes > 0);

  Checkpoints points;
  const Checkpoints::BaselineScan scan = {.file_sum = base::Hash(file),
                                          .bytes = ScanBytesOf(file),
                                          .mcus = (kSide / 8) * (kSide / 8),
                                          .components = 3};
  points.Begin(scan, used.room.first(used.bytes), 300);
  std::vector<Checkpoint> wrong;
  for (uint32_t mcu = points.grid().spacing; mcu < scan.mcus; mcu += points.grid().spacing)
    wrong.push_back(*points.Before(mcu).point);
  ++wrong[wrong.size() / 2].dc[1];
  points.Begin(scan, {}, 300);
  for (size_t n = 0; n < wrong.size(); ++n)
    points.Meet(static_cast<uint32_t>(n + 1) * points.grid().spacing, wrong[n]);
  used = {.room = room, .bytes = points.Write(room)};

  EXPECT_EQ(Decode(reader, file, all), right);
  EXPECT_TRUE(reader.started_over());
  EXPECT_TRUE(used.changed);
  EXPECT_EQ(used.bytes, 0u);
}

#endif

}  // namespace
}  // namespace penstock::decode
