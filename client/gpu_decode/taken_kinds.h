// Kinds of files that nvJPEG takes, so that it need not parse the header of each: that costs 0.01
// ms of an image. nvJPEG decides by the sampling of the components and by the size. So once it has
// taken two files of a sampling, it is not asked about those whose size lies between theirs. If it
// refuses one of them nevertheless, its call fails, and it is found as any other that fails.
// **Thread safety**: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/jpeg/engines.h"

namespace penstock::gpu_decode {

class TakenKinds {
 public:
  // Whether files like this one were taken.
  bool Cover(const jpeg::JpegHeaderFacts& facts) const {
    if (jpeg::JudgeForEngines(facts) != jpeg::EngineVerdict::kTaken) return false;
    const Sizes& sizes = kinds_[NumberOf(facts)];
    return sizes.least_width <= facts.width && facts.width <= sizes.most_width &&
           sizes.least_height <= facts.height && facts.height <= sizes.most_height;
  }

  // A file was taken.
  void Add(const jpeg::JpegHeaderFacts& facts) {
    if (jpeg::JudgeForEngines(facts) != jpeg::EngineVerdict::kTaken) return;
    Sizes& sizes = kinds_[NumberOf(facts)];
    sizes.least_width = std::min(sizes.least_width, facts.width);
    sizes.most_width = std::max(sizes.most_width, facts.width);
    sizes.least_height = std::min(sizes.least_height, facts.height);
    sizes.most_height = std::max(sizes.most_height, facts.height);
  }

 private:
  struct Sizes {
    uint32_t least_width = UINT32_MAX, most_width = 0;
    uint32_t least_height = UINT32_MAX, most_height = 0;
  };

  // **Requires**: the sampling is one of the engines'.
  static size_t NumberOf(const jpeg::JpegHeaderFacts& facts) {
    return 2 * (facts.horizontal[0] - 1u) + (facts.vertical[0] - 1u);
  }

  std::array<Sizes, 4> kinds_ = {};  // by sampling
};

}  // namespace penstock::gpu_decode
