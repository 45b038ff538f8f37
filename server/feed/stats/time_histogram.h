// A distribution of times, as Prometheus shows it: how many took at most so long. Pure. Its size is
// fixed, and an observation neither allocates nor takes a lock. One thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/clock.h"

namespace penstock::feed {

// A session's batch that lies in a bucket, so that somebody who sees the bucket grow finds one.
struct TimeExemplar {
  uint64_t session = 0;  // 0: none
  std::string trace_id = {};
  base::Duration took{};
};

class TimeHistogram {
 public:
  // The upper limits of the buckets; one more bucket has everything beyond.
  static constexpr std::array<std::chrono::microseconds, 15> kLimits = {{
      std::chrono::microseconds(100),
      std::chrono::microseconds(500),
      std::chrono::milliseconds(1),
      std::chrono::microseconds(2500),
      std::chrono::milliseconds(5),
      std::chrono::milliseconds(10),
      std::chrono::milliseconds(25),
      std::chrono::milliseconds(50),
      std::chrono::milliseconds(100),
      std::chrono::milliseconds(250),
      std::chrono::milliseconds(500),
      std::chrono::seconds(1),
      std::chrono::milliseconds(2500),
      std::chrono::seconds(10),
      std::chrono::seconds(60),
  }};
  static constexpr size_t kBuckets = kLimits.size() + 1;

  // `count` things that took `took` each. Negative times count as none.
  void Observe(base::Duration took, uint64_t count = 1) {
    if (took < base::Duration::zero()) took = base::Duration::zero();
    buckets_[BucketFor(took)] += count;
    sum_ += took * static_cast<int64_t>(count);
  }

  // The same for one batch of a session. Each bucket keeps its latest.
  void ObserveBatch(base::Duration took, uint64_t session, const std::string& trace_id) {
    Observe(took);
    TimeExemplar& latest = exemplars_[BucketFor(took)];
    latest.session = session;
    latest.trace_id = trace_id;
    latest.took = took;
  }

  // Per bucket, not cumulative.
  const std::array<uint64_t, kBuckets>& buckets() const { return buckets_; }
  const std::array<TimeExemplar, kBuckets>& exemplars() const { return exemplars_; }
  base::Duration sum() const { return sum_; }

 private:
  // Counts without branches, which takes less time than a search.
  static size_t BucketFor(base::Duration took) {
    size_t bucket = 0;
    for (const auto limit : kLimits) bucket += took > limit ? 1 : 0;
    return bucket;
  }

  std::array<uint64_t, kBuckets> buckets_ = {};
  base::Duration sum_{};
  std::array<TimeExemplar, kBuckets> exemplars_ = {};
};

}  // namespace penstock::feed
