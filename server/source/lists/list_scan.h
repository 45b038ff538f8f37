// Parses a list. The caller may not trust it.
#pragma once

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/lists/list_spec.h"
#include "server/source/lists/scanned_list.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

// The rows of the list `text`; `path`: its file, for messages. The format follows the file's name
// in the specification: .csv, .tsv, .tab, .jsonl, .ndjson.
// **Errors**: InvalidArgument with the number of the line; Cancelled.
absl::StatusOr<ScannedList> ScanList(absl::string_view text, const std::string& path,
                                     const ListSpec& spec, const ScanWatch& watch);

}  // namespace penstock::source
