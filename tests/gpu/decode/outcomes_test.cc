// What nvJPEG makes of damaged and unusual files, alone and among intact ones, as tables; that none
// of them costs another image its row; and that those which a worker would give to it show no other
// image's pixels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "common/cuda/memory_info.h"
#include "common/cuda/registration.h"
#include "common/shm/row_note.h"
#include "server/decode/decoder.h"
#include "tests/gpu/decode/decoding.h"
#include "tests/support/gpu_decode/across_border.h"

namespace penstock::gpu_decode {
namespace {

using testing::DamagedFile;
using testing::Photograph;

constexpr uint32_t kSide = 224;
constexpr size_t kIntactFiles = 8;

const char* ToText(RowResult result) {
  return result == RowResult::kOk ? "ok" : result == RowResult::kRefused ? "refused" : "FAILED";
}

// Whether the daemon's worker gives this file to the GPU.
bool IsGiven(std::span<const std::byte> file) {
  constexpr decode::Spec kSpec = {
      .height = kSide,
      .width = kSide,
      .undecoded = {.place_bytes = 1 << 20, .share = UINT32_MAX, .decoder = 1}};
  decode::Decoder decoder({.max_bytes = 1 << 20, .max_pixels = 1 << 24});
  std::vector<std::byte> place(RowBytes(kSpec));
  if (decoder.DecodeRow(file, kSpec, {}, place) != base::Fault::kNone) return false;
  shm::RowNote note;
  std::memcpy(&note, place.data() + place.size() - sizeof note, sizeof note);
  return note.holds == shm::RowHolds::kJpeg;
}

// Rows of pixels in which nearly every byte is equal.
uint32_t EqualLines(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, uint32_t width) {
  uint32_t equal = 0;
  const size_t bytes = size_t{3} * width;
  for (size_t at = 0; at + bytes <= std::min(a.size(), b.size()); at += bytes) {
    size_t same = 0;
    for (size_t i = at; i < at + bytes; ++i) same += a[i] == b[i];
    equal += same > bytes * 95 / 100;
  }
  return equal;
}

double MeanDifference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  if (a.size() != b.size()) return -1;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

class OutcomesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = NoEngines(); !why.empty()) GTEST_SKIP() << why;
    decoding_ = std::make_unique<Decoding>();
    intact_ = testing::LoadPhotographs(kIntactFiles);
    ASSERT_EQ(intact_.size(), kIntactFiles);
    for (const Photograph& photograph : intact_) {
      const RowInput input = {.jpeg = Thumbnail(photograph, kSide)};
      ASSERT_EQ(decoding_->Make({&input, 1}, kSide, kSide)[0].result, RowResult::kOk);
      wanted_.push_back(decoding_->Row(0));
    }
  }

  // Decodes all intact files with `jpeg` in their middle; the intact ones' rows must be right.
  RowOutcome MakeAmongIntact(const JpegRow& jpeg) {
    std::vector<RowInput> inputs;
    for (const Photograph& photograph : intact_) {
      inputs.push_back({.jpeg = Thumbnail(photograph, kSide)});
    }
    constexpr size_t kAt = kIntactFiles / 2;
    inputs.insert(inputs.begin() + kAt, RowInput{.jpeg = jpeg});
    const std::vector<RowOutcome> outcomes = decoding_->Make(inputs, kSide, kSide);
    for (size_t i = 0; i < kIntactFiles; ++i) {
      const size_t at = i < kAt ? i : i + 1;
      EXPECT_EQ(outcomes[at].result, RowResult::kOk) << outcomes[at].why;
      EXPECT_TRUE(decoding_->Row(at) == wanted_[i]) << "the row of another image is spoiled";
    }
    if (outcomes[kAt].result != RowResult::kOk) {
      EXPECT_TRUE(decoding_->Row(kAt) == std::vector<uint8_t>(size_t{3} * kSide * kSide, 0));
    }
    return outcomes[kAt];
  }

  void ExpectIntactAfter() {
    std::vector<RowInput> inputs;
    for (const Photograph& photograph : intact_) {
      inputs.push_back({.jpeg = Thumbnail(photograph, kSide)});
    }
    decoding_->Make(inputs, kSide, kSide);
    for (size_t i = 0; i < kIntactFiles; ++i) {
      EXPECT_TRUE(decoding_->Row(i) == wanted_[i]) << "a later batch is spoiled";
    }
  }

  void Judge(const Photograph& source, const std::vector<uint8_t>& other,
             const DamagedFile& damaged);

  std::unique_ptr<Decoding> decoding_;
  std::vector<Photograph> intact_;
  std::vector<std::vector<uint8_t>> wanted_;
};

// The size that the header has, so that the size is no reason to refuse the file.
std::pair<uint32_t, uint32_t> SizeOf(const DamagedFile& damaged, const Photograph& source) {
  const auto facts = testing::ReadFacts(damaged.file);
  if (!facts) return {source.facts.width, source.facts.height};
  return {facts->width, facts->height};
}

// Decodes another image of the same size right before, whose pixels must not show.
void OutcomesTest::Judge(const Photograph& source, const std::vector<uint8_t>& other,
                         const DamagedFile& damaged) {
  const auto [width, height] = SizeOf(damaged, source);
  const RowInput input = {.jpeg = testing::WholeImage(damaged.file, width, height)};
  const RowOutcome alone = decoding_->Make({&input, 1}, width, height)[0];
  const std::vector<uint8_t> row = decoding_->Row(0);
  const auto with_libjpeg = testing::DecodeWithLibjpeg(damaged.file);
  const uint32_t stale = alone.result == RowResult::kOk ? EqualLines(row, other, width) : 0;
  Photograph as_photograph = source;
  as_photograph.file = damaged.file;
  as_photograph.facts.width = width;
  as_photograph.facts.height = height;
  const RowOutcome among = MakeAmongIntact(Thumbnail(as_photograph, kSide));
  ExpectIntactAfter();
  const bool is_given = IsGiven(damaged.file);
  std::printf("| %s | %s | %s | %s | %s | %.2f | %u of %u | %s |\n", damaged.name.c_str(),
              is_given ? "given" : "kept", ToText(alone.result), ToText(among.result),
              with_libjpeg ? "decoded" : "refused",
              alone.result == RowResult::kOk && with_libjpeg
                  ? MeanDifference(row, with_libjpeg->pixels)
                  : -1.0,
              stale, height, alone.why.c_str());
  EXPECT_EQ(alone.result == RowResult::kOk, among.result == RowResult::kOk) << damaged.name;
  if (!is_given) return;
  EXPECT_EQ(alone.result, RowResult::kOk) << damaged.name;
  EXPECT_EQ(stale, 0u) << damaged.name << ": lines of the image that was decoded before";
}

TEST_F(OutcomesTest, DamagedFilesCostNoOtherImageAndThoseGivenShowNoOthersPixels) {
  for (const int sampling : {1, 2}) {
    const testing::JpegOptions options = {.horizontal = sampling, .vertical = sampling};
    Photograph source = {"source", testing::MakeJpeg(500, 376, options, 1), {}};
    source.facts = *testing::ReadFacts(source.file);
    const std::vector<std::byte> other_file = testing::MakeJpeg(500, 376, options, 77);
    std::printf(
        "\nsampling %d x %d\n| file | worker | alone | among intact | libjpeg | mean difference "
        "from "
        "it | stale lines | why |\n|---|---|---|---|---|---|---|---|\n",
        sampling, sampling);
    for (const DamagedFile& damaged : testing::MakeDamagedFiles(source.file)) {
      const RowInput before = {.jpeg = testing::WholeImage(other_file, 500, 376)};
      ASSERT_EQ(decoding_->Make({&before, 1}, 500, 376)[0].result, RowResult::kOk);
      Judge(source, decoding_->Row(0), damaged);
    }
  }
  const RowMakerCounts& counts = decoding_->maker().counts();
  std::printf("\ncalls %lu, failed %lu, unwritten images %lu, device memory at most %.0f MiB\n",
              counts.calls, counts.failed_calls, counts.unwritten_images,
              static_cast<double>(decoding_->maker().most_bytes_in_use()) / (1 << 20));
}

// As places of the pool lie now and then. Once as a file, once as a row of pixels.
TEST_F(OutcomesTest, RowsOfMemoryInTwoRegisteredPiecesAreMade) {
  testing::AcrossBorder memory;
  const auto registered = gpu::Must(cuda::Registration::Make(
      memory.data(), testing::AcrossBorder::kBytes, cuda::Registration::HostAccess::kReadWrite));
  RowInput file = {.jpeg = Thumbnail(intact_[3], kSide)};
  file.jpeg.file = memory.Put(file.jpeg.file);
  EXPECT_EQ(decoding_->Make({&file, 1}, kSide, kSide)[0].result, RowResult::kOk);
  EXPECT_EQ(decoding_->Row(0), wanted_[3]);
  EXPECT_EQ(decoding_->maker().counts().failed_calls, 0u);

  const auto pixels = memory.Put(std::as_bytes(std::span(wanted_[5])));
  const RowInput finished = {.pixels = reinterpret_cast<const uint8_t*>(pixels.data())};
  EXPECT_EQ(decoding_->Make({&finished, 1}, kSide, kSide)[0].result, RowResult::kOk);
  EXPECT_EQ(decoding_->Row(0), wanted_[5]);
}

TEST_F(OutcomesTest, WhatThePredicateTakesIsDecodedLikeLibjpegDoes) {
  std::printf(
      "\n| file | predicate | engines | mean difference from libjpeg | why |\n"
      "|---|---|---|---|---|\n");
  for (const Photograph& file : testing::MakeUnusualFiles()) {
    const uint32_t width = file.facts.width, height = file.facts.height;
    const RowInput input = {.jpeg = testing::WholeImage(file.file, width, height)};
    const RowOutcome outcome = decoding_->Make({&input, 1}, width, height)[0];
    const auto image = testing::DecodeWithLibjpeg(file.file);
    const double difference = outcome.result == RowResult::kOk && image
                                  ? MeanDifference(decoding_->Row(0), image->pixels)
                                  : -1;
    const jpeg::EngineVerdict verdict = JudgeForEngines(file.facts);
    std::printf("| %s | %s | %s | %.2f | %s |\n", file.name.c_str(), jpeg::ToText(verdict),
                ToText(outcome.result), difference, outcome.why.c_str());
    if (verdict != jpeg::EngineVerdict::kTaken) continue;
    EXPECT_EQ(outcome.result, RowResult::kOk) << file.name;
    EXPECT_LT(difference, 12) << file.name;  // noise in chroma, which is not interpolated
  }
}

// PENSTOCK_CYCLES batches (100 unless set) of 64 files, of which one in 800 fails, which costs a
// second.
TEST_F(OutcomesTest, NothingGrowsAndTheRightRowsFailOverManyBatches) {
  const char* const cycles = std::getenv("PENSTOCK_CYCLES");
  const int batches = cycles != nullptr ? std::atoi(cycles) : 100;
  const std::vector<DamagedFile> all = testing::MakeDamagedFiles(intact_[0].file);
  const auto failing = std::ranges::find(all, "no first Huffman table", &DamagedFile::name);
  ASSERT_NE(failing, all.end());
  std::mt19937 random(1);
  uint64_t bytes = 0, free_bytes = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<RowInput> inputs;
    std::vector<bool> damaged;
    for (int i = 0; i < 64; ++i) {
      damaged.push_back(random() % 800 == 0);
      inputs.push_back({.jpeg = Thumbnail(intact_[damaged.back() ? 0 : i % kIntactFiles], kSide)});
      if (damaged.back()) inputs.back().jpeg.file = failing->file;
    }
    const std::vector<RowOutcome> outcomes = decoding_->Make(inputs, kSide, kSide);
    for (int i = 0; i < 64; ++i) {
      ASSERT_EQ(outcomes[i].result == RowResult::kOk, !damaged[i]) << batch << ' ' << i;
      ASSERT_TRUE(damaged[i] || decoding_->Row(i) == wanted_[i % kIntactFiles]) << i;
    }
    if (batch != batches / 4) continue;
    bytes = decoding_->maker().bytes_in_use();
    free_bytes = gpu::Must(cuda::QueryMemory()).free_bytes;
  }
  EXPECT_EQ(decoding_->maker().bytes_in_use(), bytes);
  EXPECT_GE(gpu::Must(cuda::QueryMemory()).free_bytes + (16 << 20), free_bytes);
}

}  // namespace
}  // namespace penstock::gpu_decode
