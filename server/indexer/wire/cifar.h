// What a batch of CIFAR holds, as a stream of bytes, as in results.h; and whether it can be in a
// file.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/source/cifar/cifar_pickle.h"

namespace penstock::indexer {

absl::Status PutCifar(AnswerSink& sink, const source::CifarBatch& batch);
// `file_bytes` bounds all counts.
absl::StatusOr<source::CifarBatch> TakeCifar(AnswerSource& source, uint64_t file_bytes,
                                             AnswerMemory& memory);
// **Errors**: Lie if the images lie outside of the file, or there are other numbers of labels.
absl::Status CheckCifar(const source::CifarBatch& batch, uint64_t file_bytes);

}  // namespace penstock::indexer
