// Grants under random events, checked against a model after each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/unit/pool/grants_fixture.h"

namespace penstock::pool {
namespace {

using base::kKiB;
using base::kMiB;

// Sessions of three users come and go, slots are filled up to their grants, and change between used
// and unused. The pool's figures equal the model's, the kernel's pages never exceed them, and no
// slot in use loses a byte.
class RandomGrantsTest : public GrantsTest, public ::testing::WithParamInterface<uint64_t> {
 protected:
  uint64_t Pick(uint64_t limit) { return random_() % limit; }
  uint32_t Any() { return all_[Pick(all_.size())]; }
  bool IsUnused(uint32_t slot) const { return std::ranges::count(unused_, slot) > 0; }
  std::byte Mark(uint32_t slot) const { return std::byte{static_cast<uint8_t>(slot % 250 + 1)}; }

  void Step() {
    const uint32_t slot = Any();
    if (Pick(3) == 0) {
      if (IsUnused(slot)) {
        std::erase(unused_, slot);
      } else {
        unused_.push_back(slot);
      }
    } else if (!IsUnused(slot)) {
      const uint64_t before = Granted(slot), bytes = Pick(160 * kKiB);
      const absl::Status status = pool_->Grant(slot, bytes);
      refused_ += !status.ok();
      EXPECT_EQ(Granted(slot),
                status.ok() ? std::max(before, (bytes + kPage - 1) / kPage * kPage) : before);
      std::memset(Made(slot), static_cast<int>(Mark(slot)), Granted(slot));
    }
  }

  void Check() {
    uint64_t sum = 0;
    for (uint32_t slot : all_) {
      sum += kPage + Granted(slot);
      if (Granted(slot) == 0) continue;
      ASSERT_EQ(Made(slot)[0], Mark(slot));
      ASSERT_EQ(Made(slot)[Granted(slot) - 1], Mark(slot));
    }
    ASSERT_EQ(Charged(), sum);
    ASSERT_LE(sum, pool_->Used().max_bytes);
    uint64_t of_users = 0, pages = 0;
    for (const auto& [user, used] : pool_->UsedByUser()) of_users += used.segment_bytes;
    ASSERT_EQ(of_users, sum);
    for (SegmentId id : made_) pages += PagesOf(pool_->Find(id)->memory);
    ASSERT_LE(pages, sum);
    for (uint32_t slot : forgotten_) ASSERT_TRUE(IsUnused(slot));
    given_back_ += forgotten_.size();
    forgotten_.clear();
  }

  std::mt19937_64 random_{GetParam()};
  std::vector<uint32_t> all_;
  uint64_t refused_ = 0, given_back_ = 0;
};

TEST_P(RandomGrantsTest, WhatIsChargedIsWhatIsThere) {
  MakePool(kMiB);
  for (uint32_t user = 1; user <= 3; ++user) {
    const std::vector<uint32_t> slots = Open(user, 6);
    all_.insert(all_.end(), slots.begin(), slots.end());
  }
  busy_.insert(made_.begin(), made_.end());

  for (int event = 0; event < 2000; ++event) {
    Step();
    ASSERT_NO_FATAL_FAILURE(Check()) << "event " << event << " of seed " << GetParam();
  }

  EXPECT_GT(refused_, 10u);
  EXPECT_GT(given_back_, 10u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGrantsTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace penstock::pool
