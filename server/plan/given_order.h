// An order of samples that a client gave: the sample at each position of an epoch. A sample may
// occur any number of times. Needs 4 bytes per sample, or 8 if sample numbers exceed 32 bits.
//
// **Thread safety**: immutable; any thread.
// **Ownership**: shared by the store that keeps it for later sessions and the feeds that use it.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "server/plan/plan.h"

namespace penstock::plan {

class GivenOrder {
 public:
  uint64_t size() const { return size_; }  // ≥ 1
  uint64_t operator[](uint64_t place) const {
    const auto* narrow = std::get_if<Narrow>(&samples_);
    return narrow != nullptr ? (*narrow)[place] : std::get<Wide>(samples_)[place];
  }

  // A 64-bit hash of the content, the same on every machine and in every version; never 0. It names
  // the order and represents it in fingerprints.
  uint64_t hash() const { return hash_; }
  uint64_t bytes() const;
  bool operator==(const GivenOrder& other) const;

  // **Errors**: InvalidArgument names a sample outside of `samples`, and its position.
  absl::Status CheckFits(const Range& samples) const;

 private:
  friend class GivenOrderBuilder;
  using Narrow = std::vector<uint32_t>;
  using Wide = std::vector<uint64_t>;

  explicit GivenOrder(uint64_t size) : size_(size) {}

  uint64_t size_;
  std::variant<Narrow, Wide> samples_;
  uint64_t hash_ = 0;
  uint64_t largest_ = 0, largest_at_ = 0;    // the largest sample, and its first position
  uint64_t smallest_ = 0, smallest_at_ = 0;  // the same for the smallest
};

// Builds an order in pieces. **Thread safety**: one thread at a time.
class GivenOrderBuilder {
 public:
  explicit GivenOrderBuilder(uint64_t length);

  uint64_t length() const { return order_.size_; }
  uint64_t added() const { return added_; }
  // The memory that the finished order will need, as far as known.
  uint64_t bytes() const { return order_.bytes(); }

  // **Errors**: InvalidArgument if the total exceeds `length`.
  absl::Status Add(std::span<const uint64_t> samples);
  // Call it once. **Errors**: InvalidArgument if there are fewer than `length`.
  absl::StatusOr<GivenOrder> Finish();

 private:
  void Widen();
  void Keep(uint64_t sample);

  GivenOrder order_;
  uint64_t added_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace penstock::plan
