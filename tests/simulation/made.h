// What a simulated Python worker writes: a head, and each sample with its tag at both ends, so that
// samples differ in size and a batch may need more room than it was granted. Everything is a
// function of the samples and their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/simulation/tags.h"

namespace penstock::simulation {

enum class MadeKind : uint64_t {
  kBatch = 1,
  kRaised = 2,  // by a sample
  kNoRoom = 3,  // it needs more room than it gets
};

struct MadeHead {
  MadeKind kind = MadeKind::kBatch;
  uint64_t rows = 0;
  uint64_t row = 0;  // kRaised: that raised
  uint64_t check = 0;
};

inline MadeHead HeadOf(MadeKind kind, uint64_t rows, uint64_t row) {
  return {kind, rows, row, rows * 31 + row * 977 + static_cast<uint64_t>(kind)};
}

inline uint64_t MadeRowBytes(uint64_t sample) {
  return 2 * sizeof(Tag) + (sample * 7919 % 8) * 2000;
}

// Where each row begins, and the end.
inline std::vector<uint64_t> MadeOffsets(const std::vector<uint64_t>& samples) {
  std::vector<uint64_t> offsets = {sizeof(MadeHead)};
  for (const uint64_t sample : samples) offsets.push_back(offsets.back() + MadeRowBytes(sample));
  return offsets;
}

inline MadeHead ReadHead(const std::byte* batch) {
  MadeHead head;
  std::memcpy(&head, batch, sizeof(head));
  return head;
}

}  // namespace penstock::simulation
