// A pass through an object: few large requests, long gaps left out, pieces kept as they pass by.
#include "server/store/files/read_through.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace penstock::store {
namespace {

using ::testing::SizeIs;

std::byte ByteAt(uint64_t offset) { return std::byte(offset % 251 ^ offset >> 13); }

bool AreOfPlace(uint64_t offset, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != ByteAt(offset + i)) return false;
  return true;
}

// Answers at once, and counts.
class NotedObject final : public FetchedObject {
 public:
  absl::Status Fetch(uint64_t offset, std::span<std::byte> into) const override {
    ++requests;
    bytes += into.size();
    for (size_t i = 0; i < into.size(); ++i) into[i] = ByteAt(offset + i);
    return absl::IsUnavailable(failure) ? absl::OkStatus() : failure;
  }
  absl::Status FetchPatiently(uint64_t offset, std::span<std::byte> into) const override {
    ++patient;
    return Fetch(offset, into);
  }
  void Start(uint64_t offset, std::span<std::byte> into, Done done) const override {
    const absl::Status fetched = Fetch(offset, into);
    done(failure.ok() ? fetched : failure);
  }

  mutable int requests = 0, patient = 0;
  mutable uint64_t bytes = 0;
  absl::Status failure;  // of Start; of Fetch, too, if it is permanent
};

constexpr uint64_t kHeader = 512, kWindow = 1536;

class ReadThroughTest : public ::testing::Test {
 protected:
  enum class Keeps { kNothing, kPieces };

  // Reads as an indexer does: a header, which names the member behind it, and so on.
  void Pass(uint64_t members, uint64_t member_bytes, Keeps keeps) {
    const uint64_t step = kHeader + member_bytes;
    const auto pass = Begin(members * step, keeps);
    for (uint64_t i = 0; i < members; ++i) {
      Expect(*pass, i * step, std::min(kWindow, members * step - i * step));
      pass->Note({.offset = i * step + kHeader, .bytes = member_bytes});
    }
    Expect(*pass, members * step - 1, 1);
  }
  std::unique_ptr<ReadThrough> Begin(uint64_t bytes, Keeps keeps) {
    ReadThrough::Keep keep;
    if (keeps == Keeps::kPieces)
      keep = [this](uint64_t offset, std::span<const std::byte> piece) {
        kept_[offset] = piece.size();
        EXPECT_TRUE(AreOfPlace(offset, piece)) << offset;
      };
    return std::make_unique<ReadThrough>(pieces_, shared_, object_, bytes, std::move(keep),
                                         ReadThrough::Options{});
  }
  static void Expect(ReadThrough& pass, uint64_t offset, uint64_t bytes) {
    std::vector<std::byte> into(bytes);
    ASSERT_EQ(pass.Read(offset, into), absl::OkStatus());
    ASSERT_TRUE(AreOfPlace(offset, into)) << offset;
  }

  Pieces pieces_{{}};
  ReadThrough::Shared shared_;
  const std::shared_ptr<NotedObject> object_ = std::make_shared<NotedObject>();
  std::map<uint64_t, uint64_t> kept_;
};

TEST_F(ReadThroughTest, SmallMembersAreReadThroughInFewRequests) {
  Pass(1000, 50'000, Keeps::kNothing);  // 50 MB
  EXPECT_LT(object_->requests, 60);
  EXPECT_LE(object_->bytes, 1000 * (50'000 + kHeader));
}

TEST_F(ReadThroughTest, LargeMembersAreLeftOut) {
  for (const Keeps keeps : {Keeps::kNothing, Keeps::kPieces}) {
    object_->bytes = 0;
    Pass(5, 30 << 20, keeps);
    EXPECT_LT(object_->bytes, 5 * uint64_t{30 << 20} / 50);
  }
  EXPECT_THAT(kept_, SizeIs(0));
}

TEST_F(ReadThroughTest, EveryByteIsFetchedOnceAndEveryPieceKept) {
  for (const uint64_t bytes : {700, 110'000, 1'500'000}) {
    kept_.clear();
    object_->bytes = 0;
    Pass(40, bytes, Keeps::kPieces);
    EXPECT_EQ(object_->bytes, 40 * (bytes + kHeader));
    EXPECT_THAT(kept_, SizeIs(40));
    for (const auto& [offset, kept] : kept_) EXPECT_EQ(kept, bytes) << offset;
  }
}

TEST_F(ReadThroughTest, AnEndedPassLeavesNothingBehind) {
  {
    const auto pass = Begin(100 << 20, Keeps::kNothing);
    Expect(*pass, 0, 1000);
    Expect(*pass, 30'000, 1000);
    EXPECT_GT(pieces_.counts().bytes, 0u);
  }
  EXPECT_EQ(pieces_.counts().bytes, 0u);
}

TEST_F(ReadThroughTest, ManyPassesShareTheirMemory) {
  shared_.most_ahead = 4 << 20;
  std::vector<std::unique_ptr<ReadThrough>> passes;
  for (int i = 0; i < 8; ++i) passes.push_back(Begin(100 << 20, Keeps::kNothing));
  for (uint64_t at = 0; at < 3 << 20; at += 20'000) Expect(*passes[0], at, 1000);
  EXPECT_LE(pieces_.counts().bytes, (4 << 20) / 8u);
  passes.resize(1);
  for (uint64_t at = 3 << 20; at < 20 << 20; at += 20'000) Expect(*passes[0], at, 1000);
  EXPECT_GT(pieces_.counts().bytes, 1u << 20);
}

TEST_F(ReadThroughTest, WhatLiesBehindIsReadAllTheSame) {
  const auto pass = Begin(100 << 20, Keeps::kNothing);
  Expect(*pass, 50 << 20, 1000);
  Expect(*pass, 1000, 1000);
  Expect(*pass, (50 << 20) + 500, 1000);
  Expect(*pass, (60 << 20), 100'000);
  Expect(*pass, (55 << 20), 100'000);
  Expect(*pass, (100 << 20) - 1000, 1000);
  std::vector<std::byte> into(2);
  EXPECT_TRUE(absl::IsDataLoss(pass->Read((100 << 20) - 1, into)));
}

TEST_F(ReadThroughTest, TroubleIsWaitedFor) {
  object_->failure = absl::UnavailableError("slow down");
  std::vector<std::byte> into(1000);
  const auto pass = Begin(1 << 20, Keeps::kNothing);
  EXPECT_TRUE(pass->Read(0, into).ok());
  object_->failure = absl::DataLossError("changed");
  EXPECT_TRUE(absl::IsDataLoss(pass->Read(900'000, into)));
}

// An indexer that a file has taken over may say anything.
TEST_F(ReadThroughTest, PlacesThatCannotBeAreNotKept) {
  constexpr uint64_t kFrom = 20'000'000;  // behind a gap that is left out
  const auto pass = Begin(2 * kFrom, Keeps::kPieces);
  Expect(*pass, kFrom, 1000);
  pass->Note({.offset = 100, .bytes = 200});                  // before
  pass->Note({.offset = kFrom + 100'000, .bytes = 1000});     // good
  pass->Note({.offset = kFrom + 100'500, .bytes = 1000});     // overlaps it
  pass->Note({.offset = kFrom + 200'000, .bytes = 1 << 30});  // too large
  Expect(*pass, kFrom + 500'000, 1000);
  EXPECT_THAT(kept_, ::testing::ElementsAre(std::pair<uint64_t, uint64_t>(kFrom + 100'000, 1000)));
}

}  // namespace
}  // namespace penstock::store
