// The quarantine's file, which people may read:
//
//   penstock-quarantine 3
//   dataset <16 hex digits>
//   version <number>
//   <sample> <fault's number> <Unix time, ms> <attempts> <stamp> <users> "<path, C-escaped>"
//                                                          a line each; users: "1000,1001", or "-"
//   checksum <16 hex digits>                                         XXH3 of all lines before
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/state/quarantine.h"

namespace penstock::source {

struct QuarantineText {
  uint64_t dataset = 0;
  uint64_t version = 0;
  std::vector<BadSample> entries;
};

std::string FormatQuarantine(const QuarantineText& content);

// **Errors**: DataLoss names the damaged line.
absl::StatusOr<QuarantineText> ParseQuarantine(absl::string_view text);

}  // namespace penstock::source
