// What annotation files say, as a stream of bytes, as in results.h; and whether it can be in a
// file.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/source/annotated/annotations.h"

namespace penstock::indexer {

absl::Status PutAnnotations(AnswerSink& sink, const source::Annotations& all);
// `file_bytes` bounds the counts of images with paths, and of objects. `notes`: the images that
// were asked for, without paths; 0: those of a COCO file.
absl::StatusOr<source::Annotations> TakeAnnotations(AnswerSource& source, uint64_t file_bytes,
                                                    uint64_t notes, AnswerMemory& memory);
// Whether the parts agree with each other, and each value is one that a file can have.
// **Errors**: Lie.
absl::Status CheckAnnotations(const source::Annotations& all, uint64_t notes);

}  // namespace penstock::indexer
