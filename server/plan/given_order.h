// An order of samples that a client gave: the sample at each place of an epoch, any sample as often
// as the client likes. Immutable; any thread. Shared by whoever keeps it for later sessions and by
// the feeds that go by it. What it costs is 4 bytes a sample, 8 where a number needs them.
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

  // 64 bits of the content, the same on every machine and in every version; never 0. It names the
  // order and stands for it in fingerprints.
  uint64_t hash() const { return hash_; }
  uint64_t bytes() const;
  bool operator==(const GivenOrder& other) const;

  // InvalidArgument names a sample that is not one of these, and its place.
  absl::Status CheckFits(const Range& samples) const;

 private:
  friend class GivenOrderBuilder;
  using Narrow = std::vector<uint32_t>;
  using Wide = std::vector<uint64_t>;

  explicit GivenOrder(uint64_t size) : size_(size) {}

  uint64_t size_;
  std::variant<Narrow, Wide> samples_;
  uint64_t hash_ = 0;
  uint64_t largest_ = 0, largest_at_ = 0;    // the largest sample, and its first place
  uint64_t smallest_ = 0, smallest_at_ = 0;  // likewise
};

// Makes one, piece by piece. One thread at a time.
class GivenOrderBuilder {
 public:
  explicit GivenOrderBuilder(uint64_t length);

  uint64_t length() const { return order_.size_; }
  uint64_t added() const { return added_; }
  // What the finished order will take, as far as is known.
  uint64_t bytes() const { return order_.bytes(); }

  // InvalidArgument: more than `length` altogether.
  absl::Status Add(std::span<const uint64_t> samples);
  // Once. InvalidArgument: fewer.
  absl::StatusOr<GivenOrder> Finish();

 private:
  void Widen();
  void Keep(uint64_t sample);

  GivenOrder order_;
  uint64_t added_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace penstock::plan
