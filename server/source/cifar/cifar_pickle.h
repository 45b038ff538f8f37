// Finds the images and labels in a pickled batch of CIFAR's Python version. Nothing is called or
// imported: what a pickle would call is compared with the two names that these files have, and
// everything else is refused. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr uint64_t kCifarImageBytes = 3072;

// What a batch holds. CIFAR-10 has labels, CIFAR-100 fine and coarse ones.
struct CifarBatch {
  uint64_t data_offset = 0;  // where the images begin in the file, one after another
  uint64_t images = 0;
  std::vector<uint8_t> labels = {}, fine_labels = {}, coarse_labels = {};
};

// `path` is for messages. **Errors**: InvalidArgument, with the byte, if the pickle has anything
// that CIFAR's files don't have: other instructions, other objects, arrays of another type or
// shape, labels beyond 255 or another number of them.
absl::StatusOr<CifarBatch> ParseCifarBatch(absl::string_view pickle, const std::string& path);

}  // namespace penstock::source
