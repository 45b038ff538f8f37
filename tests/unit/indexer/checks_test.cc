// An indexer that lies: every impossible number in an answer is refused.
#include "server/indexer/wire/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace penstock::indexer {
namespace {

using source::ScannedShard;

constexpr uint64_t kShardBytes = 10 * 512;
constexpr uint32_t kMost = UINT32_MAX;

ScannedShard Tar() {
  ScannedShard scanned;
  scanned.samples = {{.place = 0}, {.place = 2}};
  scanned.extensions = {{.name = "jpg", .kind = 1}, {.name = "npy", .first_sample = 1, .array = 1}};
  scanned.members = {{.block = 1, .bytes = 512, .extension = 0},
                     {.block = 3, .bytes = 132, .extension = 1, .array_header = 128},
                     {.block = 9, .bytes = 128, .extension = 1, .array_header = 128}};
  scanned.arrays = {{.type = 2, .dimensions = 1, .sides = {4}},
                    {.type = 2, .dimensions = 2, .sides = {0, kMost}}};
  scanned.array_of_member = {0, 1, 2};
  scanned.images = 1;
  scanned.labeled = 2;
  return scanned;
}

TEST(ChecksTest, ATarShardThatCanBeIsBelieved) {
  EXPECT_TRUE(CheckTar(Tar(), kShardBytes).ok());
  EXPECT_TRUE(CheckTar(ScannedShard(), kShardBytes).ok());  // without samples
}

TEST(ChecksTest, ATarShardThatCannotBeIsRefused) {
  const std::function<void(ScannedShard&)> lies[] = {
      [](ScannedShard& s) { s.samples[0].place = 1; },
      [](ScannedShard& s) { s.samples[1].place = 0; },
      [](ScannedShard& s) { s.samples[1].place = 3; },
      [](ScannedShard& s) { s.samples[1].place = UINT64_MAX; },
      [](ScannedShard& s) { s.samples[1].bytes = 1; },
      [](ScannedShard& s) { s.samples.clear(); },
      [](ScannedShard& s) { s.members[2].block = 10; },
      [](ScannedShard& s) { s.members[2].block = kMost; },
      [](ScannedShard& s) { s.members[2].bytes = 513; },
      [](ScannedShard& s) { s.members[2].bytes = kMost; },
      [](ScannedShard& s) { s.members[2].extension = 2; },
      [](ScannedShard& s) { s.members[0].array_header = 128; },
      [](ScannedShard& s) { s.members[1].array_header = 0; },
      [](ScannedShard& s) { s.members[1].array_header = 64; },
      [](ScannedShard& s) { s.array_of_member.clear(); },
      [](ScannedShard& s) { s.extensions[0].kind = 2; },
      [](ScannedShard& s) { s.extensions[0].first_sample = 2; },
      [](ScannedShard& s) { s.extensions[1].array = 3; },
      [](ScannedShard& s) { s.arrays[0].type = 99; },
      [](ScannedShard& s) { s.arrays[0].dimensions = 0; },
      [](ScannedShard& s) { s.arrays[0].dimensions = 9; },
      [](ScannedShard& s) { s.arrays[0].sides[0] = 3; },
      [](ScannedShard& s) { s.arrays[0].sides[0] = kShardBytes + 1; },
      [](ScannedShard& s) {
        s.arrays[0] = {.type = 2, .dimensions = 2, .sides = {kMost, kMost}};
      },
      [](ScannedShard& s) { s.array_of_member[0] = 3; },
      [](ScannedShard& s) { s.images = 3; },
      [](ScannedShard& s) { s.labeled = 3; },
  };
  for (const auto& lie : lies) {
    ScannedShard scanned = Tar();
    lie(scanned);
    EXPECT_TRUE(absl::IsInternal(CheckTar(scanned, kShardBytes))) << &lie - lies;
  }
}

TEST(ChecksTest, RecordsMustFillTheirFileOneBehindTheOther) {
  ScannedShard records;
  records.samples = {{.place = 0, .bytes = 4}, {.place = 20, .bytes = 0}};
  records.extensions = {{.name = "image/encoded", .kind = 1, .samples = 2, .least = 1, .most = 1}};
  EXPECT_TRUE(CheckRecords(records, 36).ok());
  EXPECT_FALSE(CheckRecords(records, 35).ok());
  EXPECT_FALSE(CheckRecords(records, 37).ok());
  const std::function<void(ScannedShard&)> lies[] = {
      [](ScannedShard& s) { s.samples[0].place = 1; },
      [](ScannedShard& s) { s.samples[1].place = 19; },
      [](ScannedShard& s) { s.samples[1].place = UINT64_MAX; },
      [](ScannedShard& s) { s.samples[1].bytes = kMost; },
      [](ScannedShard& s) { s.samples.pop_back(); },
      [](ScannedShard& s) { s.extensions[0].kind = 4; },
      [](ScannedShard& s) { s.extensions[0].name.assign(257, 'x'); },
      [](ScannedShard& s) { s.members.resize(1); },
      [](ScannedShard& s) { s.images = 3; },
  };
  for (const auto& lie : lies) {
    ScannedShard scanned = records;
    lie(scanned);
    EXPECT_TRUE(absl::IsInternal(CheckRecords(scanned, 36))) << &lie - lies;
  }
}

TEST(ChecksTest, AnArraysHeaderMustAddUp) {
  const source::NpyHeader good = {
      .type = base::DType::kFloat32, .shape = {3, 5}, .header_bytes = 128, .item_bytes = 20};
  EXPECT_TRUE(CheckNpy(good).ok());
  const std::function<void(source::NpyHeader&)> lies[] = {
      [](source::NpyHeader& h) { h.type = static_cast<base::DType>(0); },
      [](source::NpyHeader& h) { h.shape.clear(); },
      [](source::NpyHeader& h) { h.shape[0] = 0; },
      [](source::NpyHeader& h) { h.shape[0] = UINT64_MAX; },
      [](source::NpyHeader& h) { h.shape[1] = 0; },
      [](source::NpyHeader& h) { h.shape[1] = UINT64_MAX; },
      [](source::NpyHeader& h) { h.item_bytes = 21; },
      [](source::NpyHeader& h) { h.header_bytes = UINT64_MAX; },
  };
  for (const auto& lie : lies) {
    source::NpyHeader header = good;
    lie(header);
    EXPECT_TRUE(absl::IsInternal(CheckNpy(header))) << &lie - lies;
  }
}

TEST(ChecksTest, TokensLieInTheirFileInTheFormatThatWasAskedFor) {
  using source::TokenFormat;
  const source::FoundTokens good = {.format = TokenFormat::kRaw,
                                    .extent = {base::DType::kUInt16, 0, 10}};
  EXPECT_TRUE(CheckTokens(good, TokenFormat::kAuto, 20).ok());
  EXPECT_TRUE(CheckTokens(good, TokenFormat::kRaw, 20).ok());
  EXPECT_FALSE(CheckTokens(good, TokenFormat::kNpy, 20).ok());
  EXPECT_FALSE(CheckTokens(good, TokenFormat::kAuto, 19).ok());
  const std::function<void(source::FoundTokens&)> lies[] = {
      [](source::FoundTokens& f) { f.format = TokenFormat::kMegatron; },
      [](source::FoundTokens& f) { f.format = static_cast<TokenFormat>(99); },
      [](source::FoundTokens& f) { f.extent.type = base::DType::kFloat32; },
      [](source::FoundTokens& f) { f.extent.type = static_cast<base::DType>(99); },
      [](source::FoundTokens& f) { f.extent.offset = 1; },
      [](source::FoundTokens& f) { f.extent.offset = UINT64_MAX; },
      [](source::FoundTokens& f) { f.extent.tokens = 0; },
      [](source::FoundTokens& f) { f.extent.tokens = UINT64_MAX; },
  };
  for (const auto& lie : lies) {
    source::FoundTokens found = good;
    lie(found);
    EXPECT_TRUE(absl::IsInternal(CheckTokens(found, TokenFormat::kAuto, 20))) << &lie - lies;
  }
}

TEST(ChecksTest, SequencesOfTokensLieInTheirFileAndOverlapNowhere) {
  source::MegatronPieces good = {.type = base::DType::kUInt16, .pieces = {{0, 5, 0}, {10, 5, 1}}};
  EXPECT_TRUE(CheckMegatron(good, 20).ok());
  EXPECT_FALSE(CheckMegatron(good, 18).ok());
  const std::function<void(source::MegatronPieces&)> lies[] = {
      [](source::MegatronPieces& p) { p.type = base::DType::kFloat64; },
      [](source::MegatronPieces& p) { p.pieces[1].byte = 11; },
      [](source::MegatronPieces& p) { p.pieces[1].byte = UINT64_MAX - 1; },
      [](source::MegatronPieces& p) { p.pieces[1].tokens = kMost; },
      [](source::MegatronPieces& p) {
        p.pieces.push_back({0, 1, 0});
      },
  };
  for (const auto& lie : lies) {
    source::MegatronPieces pieces = good;
    lie(pieces);
    EXPECT_TRUE(absl::IsInternal(CheckMegatron(pieces, 20))) << &lie - lies;
  }
}

TEST(ChecksTest, AnIdxHeaderMustAddUp) {
  IdxAnswer good;
  good.header.dimensions = 4;
  good.header.sizes = {2, 4, 5, 3};
  good.header.item_bytes = 60;
  EXPECT_TRUE(CheckIdx(good, source::IdxRole::kImages).ok());
  EXPECT_FALSE(CheckIdx(good, source::IdxRole::kLabels).ok());
  const std::function<void(source::IdxHeader&)> lies[] = {
      [](source::IdxHeader& h) { h.dimensions = 5; },
      [](source::IdxHeader& h) { h.dimensions = 0; },
      [](source::IdxHeader& h) { h.sizes[0] = 0; },
      [](source::IdxHeader& h) { h.sizes[1] = 0; },
      [](source::IdxHeader& h) { h.sizes[1] = 5; },
      [](source::IdxHeader& h) { h.item_bytes = 61; },
      [](source::IdxHeader& h) {
        h.sizes = {kMost, kMost, kMost, 16};
      },
      [](source::IdxHeader& h) { h.sizes[3] = 17, h.item_bytes = 4 * 5 * 17; },
  };
  for (const auto& lie : lies) {
    IdxAnswer answer = good;
    lie(answer.header);
    EXPECT_TRUE(absl::IsInternal(CheckIdx(answer, source::IdxRole::kImages))) << &lie - lies;
  }
}

}  // namespace
}  // namespace penstock::indexer
