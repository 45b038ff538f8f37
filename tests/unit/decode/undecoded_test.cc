// Places of rows that the consumer decodes: a place gives the same row as decoding here, what
// nvJPEG's engines may get is complete and usual, and nothing of an earlier row is left.
#include "server/decode/undecoded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "server/decode/core/place.h"
#include "server/decode/decoder.h"
#include "server/decode/jpeg/engine_walk.h"
#include "server/decode/resize.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::decode {
namespace {

using base::Fault;
using shm::RowHolds;
using shm::RowNote;
using testing::JpegOptions;
using testing::MakeJpeg;
using JpegFile = std::vector<std::byte>;

constexpr uint32_t kPlaceBytes = 64 << 10;
constexpr Spec kRandomCrop = {.height = 20, .width = 30, .flip_probability = 0.5};
constexpr Spec kCenterCrop = {
    .geometry = Geometry::kResizeCenterCrop, .height = 20, .width = 30, .resize = 40};

Spec Placed(Spec spec, uint32_t share = UINT32_MAX, uint32_t bytes = kPlaceBytes) {
  spec.undecoded = {.place_bytes = bytes, .share = share, .decoder = 1};
  return spec;
}

class PlaceTest : public ::testing::Test {
 protected:
  std::vector<std::byte> Decode(const JpegFile& file, const Spec& spec, uint64_t sample) {
    std::vector<std::byte> row(RowBytes(spec), std::byte{0xEE});
    fault_ = decoder_.DecodeRow(file, spec, {.seed = 7, .sample = sample}, row);
    return row;
  }
  static RowNote NoteIn(const std::vector<std::byte>& place) {
    RowNote note;
    std::memcpy(&note, place.data() + place.size() - sizeof note, sizeof note);
    return note;
  }
  // What a consumer makes of a place, with libjpeg's pixels.
  std::vector<std::byte> RowFrom(const std::vector<std::byte>& place, const Spec& spec) {
    const RowNote note = NoteIn(place);
    const std::span<const std::byte> held = std::span(place).first(note.bytes);
    if (note.holds == RowHolds::kPixels) return {held.begin(), held.end()};
    const testing::Image image = testing::DecodeWhole(held);
    EXPECT_EQ(image.width, note.width);
    EXPECT_EQ(image.height, note.height);
    const auto axis = [](const shm::RowAxis& from) {
      return Axis{from.in, from.out, from.first, from.count};
    };
    const Placement placement = {{note.left, note.top, note.x.in, note.y.in},
                                 axis(note.x),
                                 axis(note.y),
                                 note.flip == 1,
                                 static_cast<base::Interpolation>(note.interpolation)};
    std::vector<std::byte> row(PixelBytes(spec));
    resizer_.Resize({image.pixels.data(), image.width, image.height, 3}, placement,
                    {reinterpret_cast<uint8_t*>(row.data()), spec.width, spec.height, 3});
    return row;
  }

  Decoder decoder_{{.max_bytes = 1 << 20, .max_pixels = 1'000'000}};
  ImageResizer resizer_;
  Fault fault_ = Fault::kNone;
};

TEST_F(PlaceTest, GivesTheRowThatIsDecodedHere) {
  const JpegOptions options[] = {{},
                                 {.horizontal = 2, .vertical = 2},
                                 {.horizontal = 2, .restart_rows = 1},
                                 {.vertical = 2, .optimized = true}};
  for (uint64_t sample = 0; sample < 40; ++sample) {
    const auto side = static_cast<uint32_t>(sample);
    const JpegFile file = MakeJpeg(64 + 3 * side, 170 - 2 * side, options[sample % 4]);
    for (Spec spec : {kRandomCrop, kCenterCrop}) {
      spec.interpolation = static_cast<base::Interpolation>(sample / 4 % base::kInterpolations);
      const std::vector<std::byte> place = Decode(file, Placed(spec), sample);
      ASSERT_EQ(fault_, Fault::kNone);
      EXPECT_EQ(NoteIn(place).holds, RowHolds::kJpeg);
      EXPECT_EQ(NoteIn(place).bytes, file.size());
      EXPECT_EQ(RowFrom(place, spec), Decode(file, spec, sample)) << sample;
    }
  }
}

TEST_F(PlaceTest, HoldsPixelsOfWhatTheEnginesDoNotTake) {
  const JpegFile small = MakeJpeg(80, 30, {});
  for (const JpegFile& file :
       {MakeJpeg(90, 80, {.progressive = true}), MakeJpeg(90, 80, {.components = 1}),
        MakeJpeg(90, 80, {.components = 4}), MakeJpeg(90, 80, {.horizontal = 4}), small}) {
    const std::vector<std::byte> place = Decode(file, Placed(kRandomCrop), 3);
    ASSERT_EQ(fault_, Fault::kNone);
    EXPECT_EQ(NoteIn(place).holds, RowHolds::kPixels);
    EXPECT_EQ(RowFrom(place, kRandomCrop), Decode(file, kRandomCrop, 3));
  }
}

TEST_F(PlaceTest, HoldsPixelsOfAFileThatIsLargerThanThePlace) {
  const JpegFile file = MakeJpeg(100, 80, {});
  const auto bytes = static_cast<uint32_t>(file.size() / 64 * 64);
  const std::vector<std::byte> small = Decode(file, Placed(kRandomCrop, UINT32_MAX, bytes), 3);
  EXPECT_EQ(NoteIn(small).holds, RowHolds::kPixels);
  const std::vector<std::byte> large =
      Decode(file, Placed(kRandomCrop, UINT32_MAX, bytes + 128), 3);
  EXPECT_EQ(NoteIn(large).holds, RowHolds::kJpeg);
  EXPECT_EQ(RowFrom(small, kRandomCrop), RowFrom(large, kRandomCrop));
}

TEST_F(PlaceTest, HoldsNothingElse) {
  const JpegFile file = MakeJpeg(90, 80, {});
  for (const JpegFile& each : {file, MakeJpeg(90, 80, {.progressive = true})}) {
    const std::vector<std::byte> place = Decode(each, Placed(kRandomCrop), 3);
    const RowNote note = NoteIn(place);
    const auto rest = std::span(place).subspan(note.bytes, place.size() - note.bytes - sizeof note);
    EXPECT_TRUE(std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; }));
  }
}

bool IsZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST_F(PlaceTest, ClearsOnlyWhatItsOwnRowBeforeLeft) {
  const Spec first = Placed(kRandomCrop);
  Spec again = first;
  again.undecoded.rewrites = 1;
  std::vector<std::byte> place(kPlaceBytes, std::byte{0xEE});
  uint64_t sample = 0;
  const auto write = [&](const JpegFile& file, const Spec& spec) {
    ASSERT_EQ(decoder_.DecodeRow(file, spec, {.seed = 7, .sample = sample++}, place), Fault::kNone);
    const size_t bytes = NoteIn(place).bytes;
    EXPECT_TRUE(IsZero(std::span(place).subspan(bytes, place.size() - bytes - sizeof(RowNote))));
  };
  const JpegFile small = MakeJpeg(90, 80, {}), large = MakeJpeg(190, 180, {});
  const JpegFile decoded_here = MakeJpeg(190, 180, {.progressive = true});
  write(small, first);
  for (const JpegFile& file : {large, small, decoded_here, small, large, decoded_here, large})
    write(file, again);

  // What lies further behind is not touched.
  place[place.size() - sizeof(RowNote) - 1] = std::byte{0xEE};
  ASSERT_EQ(decoder_.DecodeRow(small, again, {.seed = 7}, place), Fault::kNone);
  EXPECT_EQ(place[place.size() - sizeof(RowNote) - 1], std::byte{0xEE});
}

TEST_F(PlaceTest, WhatADeadWorkerLeftIsCleared) {
  Spec spec = Placed(kRandomCrop);
  const JpegFile small = MakeJpeg(90, 80, {});
  std::vector<std::byte> place = Decode(small, spec, 1);
  spec.undecoded.rewrites = 1;
  const uint32_t written = NoteIn(place).bytes + 5000;
  BeginPlace(spec.undecoded, written, place);
  std::ranges::fill(std::span(place).first(written), std::byte{0xEE});  // and there it dies

  ASSERT_EQ(decoder_.DecodeRow(small, spec, {.seed = 7, .sample = 2}, place), Fault::kNone);

  const size_t bytes = NoteIn(place).bytes;
  EXPECT_TRUE(IsZero(std::span(place).subspan(bytes, place.size() - bytes - sizeof(RowNote))));
}

TEST_F(PlaceTest, ANoteThatClaimsTooMuchMeansTheWholePlace) {
  Spec spec = Placed(kRandomCrop);
  std::vector<std::byte> place = Decode(MakeJpeg(90, 80, {}), spec, 1);
  std::memset(place.data() + place.size() - sizeof(RowNote), 0xFF, sizeof(RowNote));
  spec.undecoded.rewrites = 1;
  EXPECT_EQ(BeginPlace(spec.undecoded, 100, place), kPlaceBytes - sizeof(RowNote));
}

// Whether it stays there, is moved out of the way of its pixels, or is refused.
TEST_F(PlaceTest, AFileThatLiesInItsPlaceGivesWhatAnyOtherFileGives) {
  JpegFile cut = MakeJpeg(190, 180, {}), longer = MakeJpeg(90, 80, {}), odd = MakeJpeg(90, 80, {});
  cut.resize(cut.size() / 2);
  longer.resize(longer.size() + 1000, std::byte{0x41});
  odd[odd.size() / 2] ^= std::byte{0x55};  // its scan is not whole
  const JpegFile files[] = {MakeJpeg(190, 180, {}),
                            cut,
                            longer,
                            odd,
                            MakeJpeg(90, 80, {}),
                            MakeJpeg(190, 180, {.progressive = true}),
                            MakeJpeg(90, 80, {.components = 1}),
                            JpegFile(100, std::byte{0x42})};
  Spec spec = Placed(kRandomCrop);
  std::vector<std::byte> place(kPlaceBytes, std::byte{0xEE});
  for (uint64_t round = 0; round < 3; ++round) {
    for (const JpegFile& file : files) {
      const std::vector<std::byte> wanted = Decode(file, Placed(kRandomCrop), round);
      const Fault fault = fault_;
      BeginPlace(spec.undecoded, static_cast<uint32_t>(file.size()), place);
      std::ranges::copy(file, place.begin());
      const std::span<const std::byte> in_place = std::span(place).first(file.size());
      EXPECT_EQ(decoder_.DecodeRow(in_place, spec, {.seed = 7, .sample = round}, place), fault);
      EXPECT_TRUE(fault != Fault::kNone || place == wanted);
      if (fault == Fault::kNone) spec.undecoded.rewrites = 1;
    }
  }
}

TEST_F(PlaceTest, AFileHasTheFaultThatItHasAnyway) {
  JpegFile file = MakeJpeg(90, 80, {});
  file.resize(file.size() - 2);
  Decode(file, kRandomCrop, 3);
  const Fault alone = fault_;
  EXPECT_NE(alone, Fault::kNone);
  Decode(file, Placed(kRandomCrop), 3);
  EXPECT_EQ(fault_, alone);
}

TEST_F(PlaceTest, WhatFollowsTheEndOfAnImageIsLeftOut) {
  JpegFile file = MakeJpeg(90, 80, {});
  const size_t bytes = file.size();
  file.resize(bytes + 1000, std::byte{0x41});
  EXPECT_EQ(NoteIn(Decode(file, Placed(kRandomCrop), 3)).bytes, bytes);
}

TEST(ShareTest, GrowsByFurtherSamples) {
  uint32_t half = 0;
  for (uint64_t sample = 0; sample < 10'000; ++sample) {
    const auto is_in = [sample](uint32_t share) {
      return IsAmongShare({.place_bytes = 1, .share = share}, sample);
    };
    EXPECT_TRUE(is_in(UINT32_MAX));
    half += is_in(1U << 31);
    EXPECT_LE(is_in(1U << 30), is_in(1U << 31));
  }
  EXPECT_NEAR(half, 5000, 200);
}

// ---- WalkForEngines ----

TEST(EngineWalkTest, KnowsTheHeader) {
  const JpegFile file = MakeJpeg(61, 50, {.horizontal = 2});
  const std::optional<EngineWalk> walk = WalkForEngines(file);
  ASSERT_TRUE(walk);
  EXPECT_EQ(walk->facts.width, 61u);
  EXPECT_EQ(walk->facts.height, 50u);
  EXPECT_EQ(walk->facts.horizontal[0], 2);
  EXPECT_TRUE(walk->facts.ycbcr);
  EXPECT_EQ(walk->bytes, file.size());
}

TEST(EngineWalkTest, LetsNoCutFileThrough) {
  const JpegFile file = MakeJpeg(30, 30, {.restart_rows = 1});
  ASSERT_TRUE(WalkForEngines(file));
  for (size_t bytes = 0; bytes < file.size(); ++bytes)
    EXPECT_FALSE(WalkForEngines(std::span(file).first(bytes))) << bytes;
}

size_t FindMarker(const JpegFile& file, uint8_t marker) {
  for (size_t at = 0; at + 1 < file.size(); ++at)
    if (file[at] == std::byte{0xFF} && file[at + 1] == std::byte{marker}) return at;
  return file.size();
}

TEST(EngineWalkTest, FindsAMarkerWhereverItIsInTheScan) {
  const JpegFile file = MakeJpeg(200, 100, {.noise = 60});
  const size_t scan = FindMarker(file, 0xDA) + 14;
  ASSERT_GT(file.size(), scan + 2000);  // several of the blocks that are searched at once
  JpegFile changed = file;
  std::fill(changed.begin() + static_cast<ptrdiff_t>(scan), changed.end() - 2, std::byte{0xFE});
  ASSERT_EQ(WalkForEngines(changed)->bytes, file.size());
  for (size_t at = scan; at + 4 <= file.size(); ++at) {
    changed[at] = std::byte{0xFF};
    const auto walk_with = [&](uint8_t next) {
      changed[at + 1] = std::byte{next};
      return WalkForEngines(changed);
    };
    ASSERT_EQ(walk_with(0x00)->bytes, file.size()) << at;  // stuffed
    ASSERT_EQ(walk_with(0xD9)->bytes, at + 2) << at;       // the end
    ASSERT_FALSE(walk_with(0xD0)) << at;                   // no restarts were announced
    ASSERT_FALSE(walk_with(0xFF)) << at;
    changed[at] = changed[at + 1] = std::byte{0xFE};
  }
}

TEST(EngineWalkTest, LetsNothingOddThrough) {
  const JpegFile file = MakeJpeg(40, 30, {.restart_rows = 1});
  const auto with = [&](uint8_t marker, size_t offset, uint8_t value) {
    JpegFile changed = file;
    changed[FindMarker(file, marker) + offset] = std::byte{value};
    return WalkForEngines(changed).has_value();
  };
  constexpr uint8_t kDqt = 0xDB, kDht = 0xC4, kSof = 0xC0, kSos = 0xDA, kDri = 0xDD, kRst0 = 0xD0;
  EXPECT_TRUE(with(kDqt, 5, 1));
  EXPECT_FALSE(with(kDqt, 4, 0x10));   // 16-bit steps
  EXPECT_FALSE(with(kDqt, 5, 0));      // a step of zero
  EXPECT_FALSE(with(kDht, 5, 3));      // more codes of one bit than there are
  EXPECT_FALSE(with(kDht, 4, 0x02));   // a table that baseline does not have
  EXPECT_FALSE(with(kSof, 6, 0));      // height …
  EXPECT_FALSE(with(kSof, 12, 9));     // no such table of quantisation
  EXPECT_FALSE(with(kSos, 4, 2));      // components
  EXPECT_FALSE(with(kSos, 6, 0x22));   // no such Huffman table
  EXPECT_FALSE(with(kSos, 12, 5));     // a part of the spectrum
  EXPECT_FALSE(with(kSof, 13, 1));     // a component twice
  EXPECT_FALSE(with(kDri, 5, 0));      // restarts are not announced …
  EXPECT_FALSE(with(kDri, 5, 4));      // … or are fewer than announced
  EXPECT_FALSE(with(kRst0, 1, 0xD3));  // restarts out of order
  EXPECT_FALSE(with(kRst0, 1, 0xE1));  // another marker in the scan
}

TEST(EngineWalkTest, TakesColorsAsLibjpegDoes) {
  JpegFile file = MakeJpeg(40, 30, {});
  const size_t frame = FindMarker(file, 0xC0), scan = FindMarker(file, 0xDA);
  for (size_t i = 0; i < 3; ++i)
    file[frame + 10 + 3 * i] = file[scan + 5 + 2 * i] = static_cast<std::byte>("RGB"[i]);
  const size_t jfif = FindMarker(file, 0xE0);
  ASSERT_EQ(file[jfif + 3], std::byte{16});
  EXPECT_TRUE(WalkForEngines(file)->facts.ycbcr);
  JpegFile shorter = file;  // libjpeg ignores it, and takes the letters for RGB
  shorter[jfif + 3] = std::byte{15};
  shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(jfif) + 17);
  EXPECT_FALSE(WalkForEngines(shorter)->facts.ycbcr);

  const auto adobe = [](uint8_t transform) {
    JpegFile segment(16);
    std::memcpy(segment.data(),
                "\xFF\xEE\0\x0E"
                "Adobe\0\x64\0\0\0\0",
                15);
    segment.back() = std::byte{transform};
    return segment;
  };
  const auto with = [&](std::initializer_list<uint8_t> transforms) {
    JpegFile changed = file;
    for (const uint8_t transform : transforms) {
      const JpegFile segment = adobe(transform);
      changed.insert(changed.begin() + 2, segment.begin(), segment.end());
    }
    return WalkForEngines(changed);
  };
  EXPECT_TRUE(with({1, 1})->facts.ycbcr);
  EXPECT_FALSE(with({0})->facts.ycbcr);
  EXPECT_FALSE(with({0, 1}));  // they contradict each other
}

TEST(EngineWalkTest, TakesNoSymbolsThatBaselineDoesNotHave) {
  const JpegFile file = MakeJpeg(40, 30, {});
  const auto with = [&](uint8_t symbol) {
    JpegFile changed = file;
    size_t at = 0;  // the first table of AC symbols
    while (changed[at] != std::byte{0xFF} || changed[at + 1] != std::byte{0xC4} ||
           std::to_integer<uint8_t>(changed[at + 4]) >> 4 != 1)
      ++at;
    changed[at + 5 + 16] = std::byte{symbol};
    return WalkForEngines(changed).has_value();
  };
  for (const uint8_t symbol : {0x00, 0xF0, 0x01, 0xFA}) EXPECT_TRUE(with(symbol)) << int{symbol};
  for (const uint8_t symbol : {0x10, 0x30, 0xE0, 0x0B, 0xFF}) EXPECT_FALSE(with(symbol));
}

TEST(EngineWalkTest, SurvivesAnyBytes) {
  std::mt19937 random(1);
  const JpegFile file = MakeJpeg(40, 30, {.horizontal = 2, .restart_rows = 1});
  uint32_t passed = 0;
  for (int round = 0; round < 20'000; ++round) {
    JpegFile changed = file;
    for (uint32_t i = 0; i < 1 + random() % 4; ++i)
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    const std::optional<EngineWalk> walk = WalkForEngines(changed);
    if (!walk) continue;
    ++passed;
    EXPECT_LE(walk->bytes, changed.size());
  }
  EXPECT_GT(passed, 0u);  // most changes are in the scan
}

// A share of 0 keeps a sample from the consumer, whatever its number hashes to.
TEST_F(PlaceTest, HoldsPixelsIfTheShareIsNone) {
  const JpegFile file = MakeJpeg(100, 80, {});
  const std::vector<std::byte> place = Decode(file, Placed(kRandomCrop, 0), 3);

  EXPECT_EQ(fault_, Fault::kNone);
  EXPECT_EQ(NoteIn(place).holds, RowHolds::kPixels);
  EXPECT_EQ(RowFrom(place, kRandomCrop), Decode(file, kRandomCrop, 3));
  for (uint64_t sample = 0; sample < 1000; ++sample)
    EXPECT_FALSE(IsAmongShare({.place_bytes = kPlaceBytes, .share = 0, .decoder = 1}, sample));
}

}  // namespace
}  // namespace penstock::decode
