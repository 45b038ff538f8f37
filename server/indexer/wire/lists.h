// The rows of a list, as a stream of bytes, as in results.h; and whether they can be in a file.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::indexer {

absl::Status PutList(AnswerSink& sink, const source::ScannedList& list);
// `file_bytes` bounds all counts.
absl::StatusOr<source::ScannedList> TakeList(AnswerSource& source, uint64_t file_bytes,
                                             AnswerMemory& memory);
// Whether rows, labels and columns agree with each other. **Errors**: Lie.
absl::Status CheckList(const source::ScannedList& list);

}  // namespace penstock::indexer
