// The Python literal in a .npy file's header: a dictionary of exactly `descr`, `fortran_order` and
// `shape`. What Python's own parser would take beyond that is refused. Pure.
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

// `at`: where the text begins in the file; with `path` for messages. InvalidArgument.
absl::StatusOr<NpyLiteral> ParseNpyLiteral(absl::string_view text, size_t at,
                                           const std::string& path);

}  // namespace penstock::source
