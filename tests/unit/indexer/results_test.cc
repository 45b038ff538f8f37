// Results as byte streams: they survive a round trip, or are refused before much is allocated.
#include "server/indexer/wire/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/indexer/wire/wire.h"
#include "tests/unit/indexer/answer_in_memory.h"

namespace penstock::indexer {
namespace {

using source::ScannedShard;
using ::testing::HasSubstr;

constexpr uint64_t kTarBytes = 10 * 512;

ScannedShard Sample() {
  ScannedShard scanned;
  scanned.samples = {{.place = 0, .label = -3}, {.place = 2, .label = 7}};
  scanned.extensions = {{.name = "jpg", .kind = 1, .samples = 5, .least = 6, .most = 7},
                        {.name = std::string("a\0b", 3), .first_sample = 1, .array = 1}};
  scanned.members = {{.block = 1, .bytes = 512, .extension = 0},
                     {.block = 3, .bytes = 512, .extension = 1},
                     {.block = 5, .bytes = 9, .extension = 1}};
  scanned.arrays = {{.type = 2, .dimensions = 1, .sides = {4}}};
  scanned.array_of_member = {0, 1, 1};
  scanned.images = 1;
  scanned.labeled = 2;
  scanned.digest = 99;
  scanned.example = "x.tar#key";
  scanned.warning = "odd";
  return scanned;
}

std::string Bytes(const ScannedShard& scanned) {
  AnswerInMemory answer;
  EXPECT_TRUE(PutScanned(answer, scanned).ok());
  return answer.bytes();
}

TEST(ResultsTest, AScannedShardArrivesAsItWas) {
  LimitedMemory memory;
  AnswerInMemory answer(Bytes(Sample()));
  const auto got = TakeScanned(answer, kTarBytes, memory);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(answer.all_taken());
  EXPECT_EQ(Bytes(*got), Bytes(Sample()));
  EXPECT_EQ(got->extensions[1].name, std::string("a\0b", 3));
  EXPECT_EQ(got->extensions[1].array, 1u);
  EXPECT_EQ(got->arrays, Sample().arrays);
}

// Changes each count of the header in turn: samples, members, extensions, arrays, numbered.
TEST(ResultsTest, CountsThatNoFileCouldHoldAreRefusedBeforeAnythingIsAllocated) {
  LimitedMemory memory;
  for (size_t count = 0; count < 5; ++count) {
    std::string bytes = Bytes(Sample());
    const uint64_t lie = uint64_t{1} << 60;
    std::memcpy(bytes.data() + count * sizeof lie, &lie, sizeof lie);
    AnswerInMemory answer(bytes);
    EXPECT_TRUE(absl::IsInternal(TakeScanned(answer, kTarBytes, memory).status())) << count;
  }
}

TEST(ResultsTest, AnAnswerThatEndsAnywhereIsRefused) {
  LimitedMemory memory;
  const std::string bytes = Bytes(Sample());
  for (size_t length = 0; length < bytes.size(); ++length) {
    AnswerInMemory answer(bytes.substr(0, length));
    EXPECT_TRUE(absl::IsInternal(TakeScanned(answer, kTarBytes, memory).status())) << length;
  }
}

// The head of a scan: samples, members, extensions, arrays, numbered, images, labeled, digest; and
// two texts.
std::string Claims(uint64_t samples, uint64_t members) {
  const uint64_t head[8] = {samples, members};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + std::string(8, '\0');
}

TEST(ResultsTest, ACountIsOnlyAClaimSoMemoryGrowsAsBytesArrive) {
  constexpr uint64_t kSparse = uint64_t{1} << 50;
  for (const std::string& claims : {Claims(kSparse / 16, 0), Claims(0, kSparse / 512)}) {
    LimitedMemory memory;
    AnswerInMemory answer(claims + std::string(100, 'x'));
    EXPECT_TRUE(absl::IsInternal(TakeScanned(answer, kSparse, memory).status()));
    EXPECT_LE(memory.most(), 4u * kWindowBytes);
  }
  LimitedMemory memory;
  AnswerInMemory index;
  ASSERT_TRUE(PutRecord(index, MegatronHead{.type = 4}).ok());
  ASSERT_TRUE(PutRecord(index, kSparse / 12).ok());
  EXPECT_TRUE(absl::IsInternal(TakeMegatron(index, kSparse, memory).status()));
  EXPECT_LE(memory.most(), 4u * kWindowBytes);
}

TEST(ResultsTest, WhatArrivesIsCountedAndRefusedBeyondTheLimit) {
  ScannedShard scanned = Sample();
  scanned.samples.assign(1'000'000, {.place = 0});
  const std::string bytes = Bytes(scanned);
  const uint64_t needs = scanned.samples.size() * sizeof(source::ShardSample);
  LimitedMemory enough, little(needs / 2);
  AnswerInMemory answer(bytes), again(bytes);
  const auto got = TakeScanned(answer, uint64_t{1} << 30, enough);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Bytes(*got), bytes);
  EXPECT_GE(enough.taken(), needs);
  EXPECT_LT(enough.taken(), needs + 4096);
  EXPECT_TRUE(absl::IsResourceExhausted(TakeScanned(again, uint64_t{1} << 30, little).status()));
}

TEST(ResultsTest, TextsAreEscapedAndNotLong) {
  AnswerInMemory answer;
  ASSERT_TRUE(PutText(answer, "a\nb\xff").ok());
  EXPECT_EQ(TakeText(answer).value(), "a\\nb\\xff");

  const uint32_t lie = kMostTextBytes + 1;
  AnswerInMemory long_one(std::string(reinterpret_cast<const char*>(&lie), sizeof lie));
  EXPECT_THAT(std::string(TakeText(long_one).status().message()), HasSubstr("too long"));

  AnswerInMemory cut;
  ASSERT_TRUE(PutText(cut, std::string(1 << 20, 'x')).ok());
  EXPECT_EQ(TakeText(cut).value().size(), kMostTextBytes);
}

TEST(ResultsTest, AnOutcomeArrivesAndAnUnknownOneIsRefused) {
  AnswerInMemory answer;
  ASSERT_TRUE(PutOutcome(answer, absl::DataLossError("'x' is damaged")).ok());
  absl::Status outcome;
  ASSERT_TRUE(TakeOutcome(answer, outcome).ok());
  EXPECT_EQ(outcome, absl::DataLossError("'x' is damaged"));

  AnswerInMemory unknown;
  ASSERT_TRUE(PutRecord(unknown, uint32_t{99}).ok());
  ASSERT_TRUE(PutText(unknown, "x").ok());
  EXPECT_TRUE(absl::IsInternal(TakeOutcome(unknown, outcome)));
}

TEST(ResultsTest, HeadersArriveAsTheyWere) {
  AnswerInMemory answer;
  ASSERT_TRUE(
      PutNpy(
          answer,
          {.type = base::DType::kFloat32, .shape = {3, 5}, .header_bytes = 128, .item_bytes = 20})
          .ok());
  ASSERT_TRUE(PutTokens(answer, {.format = source::TokenFormat::kLlmC,
                                 .extent = {base::DType::kUInt16, 1024, 8}})
                  .ok());
  source::IdxHeader header;
  header.dimensions = 3;
  header.sizes = {2, 4, 5};
  header.item_bytes = 20;
  ASSERT_TRUE(PutIdx(answer, {.header = header, .packed = true}).ok());
  const auto npy = TakeNpy(answer);
  EXPECT_EQ(npy->type, base::DType::kFloat32);
  EXPECT_THAT(npy->shape, ::testing::ElementsAre(3, 5));
  EXPECT_EQ(npy->header_bytes, 128u);
  EXPECT_EQ(npy->item_bytes, 20u);
  const auto tokens = TakeTokens(answer);
  EXPECT_EQ(tokens->format, source::TokenFormat::kLlmC);
  EXPECT_EQ(tokens->extent.offset, 1024u);
  EXPECT_EQ(tokens->extent.tokens, 8u);
  const auto idx = TakeIdx(answer);
  EXPECT_TRUE(idx->packed);
  EXPECT_EQ(idx->header.sizes, header.sizes);
  EXPECT_EQ(idx->header.item_bytes, 20u);
  EXPECT_TRUE(answer.all_taken());
}

TEST(ResultsTest, PiecesOfAMegatronIndexArriveAndNeverMoreThanItCanHold) {
  LimitedMemory memory;
  const source::MegatronPiece pieces[] = {{0, 5, 0}, {10, 6, 1}};
  AnswerInMemory answer;
  ASSERT_TRUE(PutRecord(answer, MegatronHead{.type = 4, .hash = 77}).ok());
  ASSERT_TRUE(PutPieces(answer, pieces).ok());
  ASSERT_TRUE(PutPieces(answer, {}).ok());
  AnswerInMemory again(answer.bytes());
  const auto got = TakeMegatron(answer, 24, memory);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->hash, 77u);
  ASSERT_EQ(got->pieces.size(), 2u);
  EXPECT_EQ(got->pieces[1].byte, 10u);
  EXPECT_EQ(got->pieces[1].ends_document, 1u);
  EXPECT_TRUE(absl::IsInternal(TakeMegatron(again, 23, memory).status()));
}

}  // namespace
}  // namespace penstock::indexer
