// Small neighbours come by one request, large pieces by several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "server/store/client/slow_down.h"
#include "server/store/files/pieces.h"

namespace penstock::store {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

std::byte ByteOfRange(uint64_t offset) { return std::byte(offset % 251); }

// Holds requests until they are answered.
class RangedObject final : public FetchedObject {
 public:
  explicit RangedObject(bool is_joinable = true) : is_joinable_(is_joinable) {}
  absl::Status Fetch(uint64_t offset, std::span<std::byte> into) const override {
    alone.emplace_back(offset, into.size());
    Fill(offset, into);
    return absl::OkStatus();
  }
  absl::Status FetchPatiently(uint64_t offset, std::span<std::byte> into) const override {
    return Fetch(offset, into);
  }
  void Start(uint64_t offset, std::span<std::byte> into, Done done) const override {
    Begin({{.offset = offset, .into = into}}, std::move(done));
  }
  bool is_joinable() const override { return is_joinable_; }
  void StartParts(const std::vector<ObjectPart>& parts, Done done) const override {
    Begin(parts, std::move(done));
  }
  // Answers the first requests that are under way.
  void Answer(size_t count, const absl::Status& status = absl::OkStatus()) const {
    for (size_t i = 0; i < count; ++i) {
      auto [parts, done] = std::move(under_way.front());
      under_way.erase(under_way.begin());
      for (const ObjectPart& part : parts) Fill(part.offset, part.into);
      done(status);
    }
  }

  mutable std::vector<std::pair<uint64_t, uint64_t>> alone;   // offset and bytes
  mutable std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of all that were started
  mutable std::vector<std::pair<std::vector<ObjectPart>, Done>> under_way;

 private:
  static void Fill(uint64_t offset, std::span<std::byte> into) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = ByteOfRange(offset + i);
  }
  void Begin(const std::vector<ObjectPart>& parts, Done done) const {
    ranges.emplace_back(parts.front().offset, parts.back().end() - parts.front().offset);
    under_way.emplace_back(parts, std::move(done));
  }
  const bool is_joinable_;
};

class JoinedPiecesTest : public ::testing::Test {
 protected:
  Pieces::Options Options() {
    return {.most_joined = 1000,
            .most_between = 50,
            .part_bytes = 2000,
            .soon = [this](std::function<void()> begin) { begin_ = std::move(begin); }};
  }
  void Begin() { std::exchange(begin_, nullptr)(); }
  void ExpectRead(Pieces& pieces, const std::shared_ptr<RangedObject>& object, uint64_t offset,
                  uint64_t bytes) {
    std::vector<std::byte> into(bytes);
    ASSERT_EQ(pieces.Read(object, offset, 0, into), absl::OkStatus());
    for (uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(into[i], ByteOfRange(offset + i)) << i;
  }

  std::function<void()> begin_;
  const std::shared_ptr<RangedObject> object_ = std::make_shared<RangedObject>();
};

TEST_F(JoinedPiecesTest, CloseNeighboursComeByOneRequest) {
  Pieces pieces(Options());
  for (const uint64_t offset : {300, 0, 150, 1000, 5000}) pieces.Expect(object_, offset, 100);
  Begin();
  // 300 comes first, in the order in which they are expected; 200 bytes lie before 1000.
  EXPECT_THAT(object_->ranges,
              ElementsAre(Pair(300, 100), Pair(0, 250), Pair(1000, 100), Pair(5000, 100)));
  EXPECT_EQ(pieces.counts().joined, 1u);

  object_->Answer(4);
  for (const uint64_t offset : {300, 0, 150, 1000, 5000}) ExpectRead(pieces, object_, offset, 100);
  EXPECT_THAT(object_->alone, SizeIs(0));
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(JoinedPiecesTest, AJoinedRequestIsNotLargerThanAllowed) {
  Pieces pieces(Options());
  for (uint64_t i = 0; i < 25; ++i) pieces.Expect(object_, 100 * i, 100);
  Begin();
  EXPECT_THAT(object_->ranges, ElementsAre(Pair(0, 1000), Pair(1000, 1000), Pair(2000, 500)));
  object_->Answer(3);
  for (uint64_t i = 0; i < 25; ++i) ExpectRead(pieces, object_, 100 * i, 100);
}

TEST_F(JoinedPiecesTest, ALargePieceComesInParts) {
  Pieces pieces(Options());
  pieces.Expect(object_, 7, 4500);
  Begin();
  EXPECT_THAT(object_->ranges, ElementsAre(Pair(7, 2000), Pair(2007, 2000), Pair(4007, 500)));
  EXPECT_EQ(pieces.counts().parts, 3u);
  object_->Answer(3);
  ExpectRead(pieces, object_, 7, 4500);
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(JoinedPiecesTest, WhatNobodyExpectedComesInPartsIfItIsLarge) {
  Pieces::Options options = Options();
  options.soon = nullptr;
  Pieces pieces(options);
  std::thread reader([&] { ExpectRead(pieces, object_, 7, 4500); });
  while (pieces.counts().parts < 3) std::this_thread::yield();
  while (pieces.counts().found < 1) std::this_thread::yield();
  object_->Answer(3);
  reader.join();
  EXPECT_THAT(object_->alone, SizeIs(0));
}

TEST_F(JoinedPiecesTest, OtherObjectsAreNeitherJoinedNorCut) {
  const auto other = std::make_shared<RangedObject>(false);
  Pieces pieces(Options());
  pieces.Expect(other, 0, 100);
  pieces.Expect(other, 100, 100);
  pieces.Expect(other, 200, 5000);
  Begin();
  EXPECT_THAT(other->ranges, ElementsAre(Pair(0, 100), Pair(100, 100), Pair(200, 5000)));
  other->Answer(3);
  ExpectRead(pieces, other, 200, 5000);
}

TEST_F(JoinedPiecesTest, AFailedPartFailsThePieceOnceAllHaveEnded) {
  Pieces pieces(Options());
  pieces.Expect(object_, 0, 4500);
  Begin();
  object_->Answer(1, absl::DataLossError("changed"));
  EXPECT_EQ(pieces.counts().bytes, 4500u) << "its memory is still written to";
  object_->Answer(2);
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(JoinedPiecesTest, WhatWasJoinedIsTriedAgainPieceByPiece) {
  Pieces pieces(Options());
  pieces.Expect(object_, 0, 100);
  pieces.Expect(object_, 110, 100);
  Begin();
  object_->Answer(1, absl::UnavailableError("cut off"));
  ExpectRead(pieces, object_, 0, 100);
  ExpectRead(pieces, object_, 110, 100);
  EXPECT_THAT(object_->alone, ElementsAre(Pair(0, 100), Pair(110, 100)));
}

TEST_F(JoinedPiecesTest, AStoreThatAsksToSlowDownGetsFewerRequests) {
  Pieces::Options options = Options();
  options.most_at_once = 8;
  Pieces pieces(options);
  for (uint64_t i = 0; i < 100; ++i) pieces.Expect(object_, 10'000 * i, 100);
  Begin();
  ASSERT_THAT(object_->under_way, SizeIs(8));
  absl::Status slow = absl::UnavailableError("503");
  MarkSlowDown(slow);
  object_->Answer(1, slow);
  EXPECT_EQ(pieces.counts().window, 4u);
  EXPECT_EQ(pieces.counts().halvings, 1u);
  while (pieces.counts().under_way > 7) std::this_thread::yield();  // until it was tried again
  object_->Answer(3);
  EXPECT_THAT(object_->under_way, SizeIs(4)) << "no others begin until fewer are under way";
  object_->Answer(1);
  EXPECT_THAT(object_->under_way, SizeIs(4));
  while (!object_->under_way.empty()) object_->Answer(1);
}

TEST_F(JoinedPiecesTest, WhatIsDroppedIsNotFetchedAndLeavesNothing) {
  Pieces pieces(Options());
  pieces.Expect(object_, 0, 100);
  pieces.Expect(object_, 5000, 100);
  pieces.Drop(object_, 0);
  Begin();
  EXPECT_THAT(object_->ranges, ElementsAre(Pair(5000, 100)));
  pieces.Drop(object_, 5000);
  EXPECT_EQ(pieces.counts().bytes, 100u) << "its memory is still written to";
  object_->Answer(1);
  EXPECT_EQ(pieces.counts().bytes, 0u);
  EXPECT_EQ(pieces.counts().waiting, 0u);
}

TEST_F(JoinedPiecesTest, ReadersOfALargePieceAreToldOfAnEnd) {
  Pieces::Options options = Options();
  options.soon = nullptr;
  options.most_at_once = 4;
  Pieces pieces(options);
  for (uint64_t i = 0; i < 4; ++i) pieces.Expect(object_, 100'000 + 10'000 * i, 100);
  pieces.Expect(object_, 0, 9000);  // waits
  std::thread reader([&] {
    std::vector<std::byte> into(9000);
    EXPECT_TRUE(absl::IsCancelled(pieces.Read(object_, 0, 0, into)));
  });
  while (pieces.counts().found < 1) std::this_thread::yield();
  object_->Answer(4, absl::CancelledError("ending"));
  reader.join();
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

}  // namespace
}  // namespace penstock::store
