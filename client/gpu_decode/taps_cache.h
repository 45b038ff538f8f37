// Weights of axes, kept because computing them takes most of the time that a row's tables take.
// Photographs have a few hundred sides, and so have random boxes of them.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <tuple>

#include "common/base/interpolation.h"
#include "common/resample/taps.h"

namespace penstock::gpu_decode {

class TapsCache {
 public:
  // Holds at most so much, and what was found last.
  static constexpr size_t kMostBytes = size_t{4} << 20;

  std::shared_ptr<const resample::Taps> Find(const resample::Axis& axis,
                                             base::Interpolation interpolation) {
    const Key key = {axis.in, axis.out, axis.first, axis.count, interpolation};
    if (const auto found = taps_.find(key); found != taps_.end()) return found->second;
    auto made = std::make_shared<resample::Taps>();
    made->Compute(axis, interpolation);
    if (bytes_ + made->bytes() > kMostBytes) Clear();
    bytes_ += made->bytes();
    taps_.emplace(key, made);
    return made;
  }

  size_t bytes() const { return bytes_; }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, base::Interpolation>;

  void Clear() {
    taps_.clear();
    bytes_ = 0;
  }

  std::map<Key, std::shared_ptr<const resample::Taps>> taps_;
  size_t bytes_ = 0;
};

}  // namespace penstock::gpu_decode
