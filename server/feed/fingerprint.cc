#include "server/feed/fingerprint.h"

#include <bit>

#include "server/feed/hash.h"

namespace penstock::feed {
namespace {

// Stands where an order's number stands.
constexpr uint64_t kGiven = 2;

class Hash {
 public:
  void Add(uint64_t word) { state_ = HashOn(state_, word); }
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
  if (spec.given != nullptr) {
    hash.Add(kGiven);
    hash.Add(spec.given->hash());
  } else {
    hash.Add(static_cast<uint64_t>(spec.order));
  }
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
