#include "server/feed/fingerprint.h"

#include <bit>

namespace penstock::feed {
namespace {

// SplitMix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014), folded over the words in order.
class Hash {
 public:
  void Add(uint64_t word) {
    state_ = (state_ ^ word) + 0x9E3779B97F4A7C15;
    state_ = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9;
    state_ = (state_ ^ (state_ >> 27)) * 0x94D049BB133111EB;
    state_ ^= state_ >> 31;
  }
  void Add(double number) { Add(std::bit_cast<uint64_t>(number)); }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0;
};

}  // namespace

uint64_t Fingerprint(const FeedSpec& spec) {
  Hash hash;
  hash.Add(spec.dataset_digest);
  hash.Add(spec.samples);
  hash.Add(static_cast<uint64_t>(spec.order));
  hash.Add(spec.seed);
  const decode::Spec& decoding = spec.decoding;
  hash.Add(static_cast<uint64_t>(decoding.geometry));
  hash.Add(uint64_t{decoding.height});
  hash.Add(uint64_t{decoding.width});
  if (decoding.geometry == decode::Geometry::kResizeCenterCrop) {
    hash.Add(uint64_t{decoding.resize});
  } else {
    hash.Add(decoding.scale_min);
    hash.Add(decoding.scale_max);
    hash.Add(decoding.ratio_min);
    hash.Add(decoding.ratio_max);
  }
  hash.Add(decoding.flip_probability);
  return hash.value() == 0 ? 1 : hash.value();
}

}  // namespace penstock::feed
