// Files that are cut short, damaged, or not images: decoding returns a fault, or a row that depends
// only on the file.
#include <gtest/gtest.h>

#include <random>

#include "server/decode/decoder.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::decode {
namespace {

using base::Fault;
using testing::JpegOptions;
using testing::MakeJpeg;

constexpr SampleLimits kLimits = {.max_bytes = 1 << 20, .max_pixels = 200'000};
constexpr Spec kSpec = {.height = 24, .width = 24, .flip_probability = 0.5};

struct Result {
  Fault fault;
  std::vector<std::byte> row;  // empty if there is a fault
  bool operator==(const Result&) const = default;
};

Result Decode(Decoder& decoder, const std::vector<std::byte>& file, uint64_t sample) {
  std::vector<std::byte> row(RowBytes(kSpec));
  const Fault fault = decoder.DecodeRow(file, kSpec, {5, 0, sample}, row);
  if (fault != Fault::kNone) row.clear();
  return {fault, std::move(row)};
}

class DamageTest : public ::testing::TestWithParam<JpegOptions> {
 protected:
  // A decoder that has seen all earlier damage must return the same as a new one.
  Result DecodeTwice(const std::vector<std::byte>& file, uint64_t sample) {
    Decoder fresh(kLimits);
    const Result first = Decode(fresh, file, sample);
    const Result second = Decode(used_, file, sample);
    EXPECT_EQ(first.fault, second.fault);
    EXPECT_TRUE(first.row == second.row);
    return first;
  }

  std::mt19937 random_{17};
  Decoder used_{kLimits};
  const std::vector<std::byte> file_ = MakeJpeg(90, 70, GetParam());
};

TEST_P(DamageTest, ACutFileIsTruncatedWhateverTheCrop) {
  for (size_t cut = 3; cut + 3 < file_.size(); cut += 1 + random_() % 40) {
    const std::vector<std::byte> file(file_.begin(), file_.begin() + cut);
    for (uint64_t sample = 0; sample < 4; ++sample) {
      ASSERT_EQ(DecodeTwice(file, sample).fault, Fault::kTruncated) << "cut at " << cut;
    }
  }
}

TEST_P(DamageTest, ACutFileThatWasGivenAnEndIsDecodedAsItIs) {
  for (size_t cut = file_.size() - 400; cut + 3 < file_.size(); cut += 37) {
    std::vector<std::byte> file(file_.begin(), file_.begin() + cut);
    file.push_back(std::byte{0xFF});
    file.push_back(std::byte{0xD9});

    EXPECT_EQ(DecodeTwice(file, 1).fault, Fault::kNone) << "cut at " << cut;
  }
}

TEST_P(DamageTest, BytesBehindTheEndAreIgnored) {
  std::vector<std::byte> file = file_;
  file.resize(file.size() + 100, std::byte{0xC7});

  EXPECT_EQ(DecodeTwice(file, 2), DecodeTwice(file_, 2));
}

TEST_P(DamageTest, FlippedBitsGiveAFaultOrARowAndLeaveNoTrace) {
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> file = file_;
    for (uint32_t flips = 1 + random_() % 8; flips > 0; --flips) {
      file[3 + random_() % (file.size() - 3)] ^= std::byte{1} << random_() % 8;
    }
    DecodeTwice(file, round);
  }

  EXPECT_EQ(DecodeTwice(file_, 0).fault, Fault::kNone);
}

TEST_P(DamageTest, PiecesPutTogetherAtRandomGiveAFaultOrARowAndLeaveNoTrace) {
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> file(file_.begin(), file_.begin() + 3 + random_() % (file_.size() - 3));
    const size_t from = random_() % file_.size();
    file.insert(file.end(), file_.begin() + from, file_.end());
    DecodeTwice(file, round);
  }

  EXPECT_EQ(DecodeTwice(file_, 0).fault, Fault::kNone);
}

INSTANTIATE_TEST_SUITE_P(Files, DamageTest,
                         ::testing::Values(JpegOptions{},
                                           JpegOptions{.horizontal = 2, .vertical = 2},
                                           JpegOptions{.components = 1},
                                           JpegOptions{.horizontal = 2, .progressive = true},
                                           JpegOptions{.vertical = 2, .restart_rows = 1}));

TEST(GarbageTest, RandomBytesAreNeverARow) {
  std::mt19937 random(3);
  Decoder decoder(kLimits);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> file(random() % 300 + 1);
    for (std::byte& value : file) value = static_cast<std::byte>(random());
    const std::byte begin[] = {std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
    if (round % 2 == 0) file.insert(file.begin(), std::begin(begin), std::end(begin));

    EXPECT_NE(Decode(decoder, file, round).fault, Fault::kNone);
  }
}

}  // namespace
}  // namespace penstock::decode
