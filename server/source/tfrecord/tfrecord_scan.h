// Finds the records of one TFRecord file, with their lengths, features and labels. Skips images and
// other byte strings.
// **Thread safety**: any thread.
#pragma once

#include "common/base/status.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

// Finds the records of one file. **Errors**: those of Parsers::ScanRecords.
absl::StatusOr<ScannedShard> ScanRecordFile(const ForeignFile& file, const RecordRoles& roles,
                                            const ScanWatch& watch);

}  // namespace penstock::source
