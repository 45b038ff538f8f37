// A pool with sparse slots, and which of these nobody uses.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <set>
#include <vector>

#include "server/pool/pool.h"

namespace penstock::pool {

inline constexpr uint32_t kUser = 1000, kOther = 1001;

inline uint64_t PagesOf(const posix::Fd& memory) {
  struct stat status;
  EXPECT_EQ(::fstat(memory.get(), &status), 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

// A pool whose slots are in use unless the test says otherwise.
class GrantsTest : public ::testing::Test {
 protected:
  void MakePool(uint64_t max_bytes) {
    Pool::Options options;
    options.max_bytes = max_bytes;
    options.segment_bytes = 64 * base::kKiB;
    options.available_bytes = [this] { return available_; };
    pool_.emplace(
        options,
        Pool::Listener{.made =
                           [this](const Segment& s) {
                             made_.push_back(s.id);
                             return absl::OkStatus();
                           },
                       .give_up = [this](const Segment& s) { return !busy_.contains(s.id); },
                       .unused =
                           [this](uint64_t arena) {
                             std::vector<uint32_t> slots;
                             for (uint32_t slot : unused_)
                               if (pool_->Find(pool_->Place(slot).segment)->arena == arena)
                                 slots.push_back(slot);
                             return slots;
                           },
                       .forget = [this](uint32_t slot) { forgotten_.push_back(slot); }});
  }

  // Reserves `slots` slots for batches of up to `most` bytes. Returns their ids.
  std::vector<uint32_t> Open(uint32_t user, uint32_t slots, uint64_t most = base::kMiB) {
    const uint64_t arena = pool_->ArenaOf(user, LayOutMade(32, most));
    const absl::Status status = pool_->Reserve(arena, slots);
    EXPECT_TRUE(status.ok()) << status;
    return pool_->Find(made_.back())->slots;
  }

  std::byte* Made(uint32_t slot) {
    const SlotPlace& place = pool_->Place(slot);
    return place.data + place.layout.made_offset;
  }
  uint64_t Granted(uint32_t slot) { return pool_->Place(slot).granted; }
  uint64_t Charged() { return pool_->Used().segment_bytes; }

  std::optional<Pool> pool_;
  std::vector<SegmentId> made_;
  std::set<SegmentId> busy_;
  std::vector<uint32_t> unused_, forgotten_;
  uint64_t available_ = UINT64_MAX;
  base::TimePoint start_{};
};

}  // namespace penstock::pool
