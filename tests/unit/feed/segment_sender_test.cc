#include "server/feed/engine/segment_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class SegmentSenderTest : public ::testing::Test {
 protected:
  static pool::Segment Segment(uint32_t id) { return {.id = pool::SegmentId(id), .bytes = 4096}; }

  absl::Status answer_;
  std::vector<std::pair<uint64_t, shm::DoorwayKind>> sent_;
  SegmentSender sender_{
      [this](uint64_t peer, const void* message, size_t, const std::vector<int>&) {
        shm::DoorwayHeader header;
        std::memcpy(&header, message, sizeof(header));
        sent_.emplace_back(peer, header.kind);
        return answer_;
      }};
};

TEST_F(SegmentSenderTest, EachPeerIsSentASegmentOnce) {
  EXPECT_TRUE(sender_.Send(1, Segment(9)).ok());
  EXPECT_TRUE(sender_.Send(1, Segment(9)).ok());
  EXPECT_TRUE(sender_.Send(2, Segment(9)).ok());

  EXPECT_THAT(
      sent_, ElementsAre(Pair(1, shm::DoorwayKind::kSegment), Pair(2, shm::DoorwayKind::kSegment)));
}

TEST_F(SegmentSenderTest, WhatCouldNotBeSentIsSentAgain) {
  answer_ = absl::UnavailableError("full");
  EXPECT_FALSE(sender_.Send(1, Segment(9)).ok());
  answer_ = absl::OkStatus();

  EXPECT_TRUE(sender_.Send(1, Segment(9)).ok());
  EXPECT_EQ(sent_.size(), 2u);
}

TEST_F(SegmentSenderTest, ThoseWhoHaveItAreToldThatItIsGoneAndNobodyElse) {
  sender_.Send(1, Segment(9)).IgnoreError();
  sender_.Send(2, Segment(8)).IgnoreError();
  sent_.clear();

  sender_.Gone(pool::SegmentId(9));
  sender_.Gone(pool::SegmentId(9));

  EXPECT_THAT(sent_, ElementsAre(Pair(1, shm::DoorwayKind::kSegmentGone)));
}

TEST_F(SegmentSenderTest, APeerThatIsGoneIsToldNothing) {
  sender_.Send(1, Segment(9)).IgnoreError();
  sent_.clear();

  sender_.PeerGone(1);
  sender_.Gone(pool::SegmentId(9));

  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace penstock::feed
