#include "server/indexer/wire/cifar.h"

#include <vector>

#include "server/indexer/wire/take_records.h"

namespace penstock::indexer {
namespace {

using source::CifarBatch;

struct CifarHead {
  uint64_t data_offset = 0, images = 0;
  uint64_t labels = 0, fine_labels = 0, coarse_labels = 0;
};

}  // namespace

absl::Status PutCifar(AnswerSink& sink, const CifarBatch& batch) {
  PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, CifarHead{.data_offset = batch.data_offset,
                                                     .images = batch.images,
                                                     .labels = batch.labels.size(),
                                                     .fine_labels = batch.fine_labels.size(),
                                                     .coarse_labels = batch.coarse_labels.size()}));
  for (const std::vector<uint8_t>* labels :
       {&batch.labels, &batch.fine_labels, &batch.coarse_labels})
    PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(*labels))));
  return absl::OkStatus();
}

absl::StatusOr<CifarBatch> TakeCifar(AnswerSource& source, uint64_t file_bytes,
                                     AnswerMemory& memory) {
  CifarHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  CifarBatch batch = {.data_offset = head.data_offset, .images = head.images};
  for (const auto& [count, labels] :
       {std::pair(head.labels, &batch.labels), std::pair(head.fine_labels, &batch.fine_labels),
        std::pair(head.coarse_labels, &batch.coarse_labels)}) {
    if (count > file_bytes) return Lie("more labels than the file can hold");
    PENSTOCK_RETURN_IF_ERROR(TakeRecords(source, count, count, memory, *labels));
  }
  return batch;
}

absl::Status CheckCifar(const CifarBatch& batch, uint64_t file_bytes) {
  if (batch.images == 0 || batch.data_offset > file_bytes ||
      batch.images > (file_bytes - batch.data_offset) / source::kCifarImageBytes)
    return Lie("images outside of the file");
  for (const std::vector<uint8_t>* labels :
       {&batch.labels, &batch.fine_labels, &batch.coarse_labels})
    if (!labels->empty() && labels->size() != batch.images) return Lie("another number of labels");
  return absl::OkStatus();
}

}  // namespace penstock::indexer
