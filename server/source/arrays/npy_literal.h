// Parses the Python literal in a .npy header: a dictionary of exactly `descr`, `fortran_order` and
// `shape`. Refuses anything else that Python's parser would accept. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

struct NpyLiteral {
  std::string descr;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
};

// `at` (the offset of the text in the file) and `path` are for messages. **Errors**:
// InvalidArgument.
absl::StatusOr<NpyLiteral> ParseNpyLiteral(absl::string_view text, size_t at,
                                           const std::string& path);

}  // namespace penstock::source
