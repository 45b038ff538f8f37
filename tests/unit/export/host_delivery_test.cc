#include "server/export/host_delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostDeliveryTest : public ::testing::Test {
 protected:
  void Announce(uint64_t sequence) {
    shm::ControlEntry entry = {};
    entry.sequence = sequence;
    delivery_->Announce(entry, {});
  }
  shm::ControlPage& Consumer() { return *reinterpret_cast<shm::ControlPage*>(mapping_.data()); }

  const std::unique_ptr<HostDelivery> delivery_ = *HostDelivery::Make(7, 4);
  const posix::Mapping mapping_ =
      *posix::Mapping::Map(delivery_->memory(), shm::kControlBytes, posix::Access::kReadWrite);
};

TEST_F(HostDeliveryTest, NothingIsHeardOfASilentConsumer) {
  Announce(1);

  EXPECT_EQ(delivery_->Listen().taken, 0u);
  EXPECT_THAT(delivery_->Listen().released, IsEmpty());
}

TEST_F(HostDeliveryTest, EachReleaseIsHeardOnceInAnyOrder) {
  for (uint64_t sequence : {1, 2, 3}) Announce(sequence);
  Consumer().taken = 3;
  Consumer().released[2] = 3;
  Consumer().released[0] = 1;

  const BatchDelivery::Heard first = delivery_->Listen(), second = delivery_->Listen();

  EXPECT_EQ(first.taken, 3u);
  EXPECT_THAT(first.released, ElementsAre(1, 3));
  EXPECT_THAT(second.released, IsEmpty());
}

TEST_F(HostDeliveryTest, AReleaseOfWhatWasNotAnnouncedIsNotHeard) {
  Consumer().released[0] = 1;

  EXPECT_THAT(delivery_->Listen().released, IsEmpty());
}

}  // namespace
}  // namespace penstock::exporting
