#include "client/src/core/grant.h"

#include "absl/strings/str_cat.h"
#include "common/base/dtype.h"
#include "common/shm/doorway_wire.h"
#include "common/shm/python_slot.h"

namespace penstock::client {
namespace {

constexpr uint64_t kWord = 8;          // bytes of a label or a sample id
constexpr uint64_t kPageBytes = 4096;  // of shared memory

// Whether `count` items of `bytes` each, from `offset` on, fit into `total`.
bool Fits(uint64_t offset, uint64_t count, uint64_t bytes, uint64_t total) {
  uint64_t size;
  return !__builtin_mul_overflow(count, bytes, &size) && offset <= total && size <= total - offset;
}

absl::Status Impossible(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, "; this is a bug in Penstock, please report it"));
}

absl::Status CheckTensor(const TensorPlace& tensor, const Grant& grant) {
  const uint64_t rows = grant.batch_size;
  if (!base::IsKnown(static_cast<base::DType>(tensor.field.type)))
    return Impossible(absl::StrCat("the daemon's grant: '", tensor.field.name, "' has type ",
                                   static_cast<uint32_t>(tensor.field.type),
                                   ", which this client does not know"));
  uint64_t bytes = ElementBytes(tensor.field.type);
  bool fits = (tensor.offset | tensor.row_stride) % bytes == 0;
  for (const uint32_t side : tensor.field.shape)
    fits = fits && !__builtin_mul_overflow(bytes, uint64_t{side}, &bytes);
  const bool nothing = grant.synthetic.has_value() && tensor.row_stride == 0;
  fits = fits && bytes == tensor.row_bytes && (nothing || bytes <= tensor.row_stride) &&
         Fits(tensor.offset, rows - 1, tensor.row_stride, grant.labels_offset) &&
         Fits(tensor.offset + (rows - 1) * tensor.row_stride, 1, nothing ? 0 : bytes,
              grant.labels_offset);
  if (tensor.field.variable)
    fits = fits && !tensor.field.shape.empty() && tensor.lengths_offset % sizeof(int32_t) == 0 &&
           Fits(tensor.lengths_offset, rows, sizeof(int32_t), grant.labels_offset);
  if (fits) return absl::OkStatus();
  return Impossible(absl::StrCat(
      "the daemon's grant: slots of ", grant.slot_bytes, " bytes cannot hold ", rows, " rows of '",
      tensor.field.name, "' at offset ", tensor.offset, ", ", tensor.row_stride, " bytes apart"));
}

// A made batch begins at a page of its own, behind labels and ids, so that it can be mapped alone.
absl::Status CheckMade(const Grant& grant) {
  const MadeBatches& made = *grant.made;
  if (grant.row_bytes != 0 || !grant.tensors.empty() || grant.synthetic ||
      grant.delivery != Delivery::kHost) {
    return Impossible(absl::StrCat("the daemon's grant: batches that Python makes, with rows of ",
                                   grant.row_bytes, " bytes and ", grant.tensors.size(),
                                   " tensors, delivered as '", DeliveryName(grant.delivery), "'"));
  }
  if (made.host_token.size() != shm::kHostTokenBytes) {
    return Impossible(absl::StrCat("the daemon's grant: a host's token of ", made.host_token.size(),
                                   " bytes, expected ", shm::kHostTokenBytes));
  }
  if (made.data_offset % kPageBytes != 0 || made.max_batch_bytes < sizeof(shm::PythonSlotHeader) ||
      !Fits(grant.ids_offset, grant.batch_size, kWord, made.data_offset) ||
      !Fits(made.data_offset, 1, made.max_batch_bytes, grant.slot_bytes)) {
    return Impossible(absl::StrCat("the daemon's grant: slots of ", grant.slot_bytes,
                                   " bytes cannot hold batches of ", made.max_batch_bytes,
                                   " bytes at offset ", made.data_offset, " behind ",
                                   grant.batch_size, " sample ids at offset ", grant.ids_offset));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGrant(const Grant& grant) {
  uint64_t area, row;
  if (__builtin_mul_overflow(uint64_t{grant.height}, grant.width, &area) ||
      __builtin_mul_overflow(area, uint64_t{grant.channels}, &row) ||
      grant.row_bytes != (grant.synthetic         ? 0
                          : grant.place_bytes > 0 ? grant.place_bytes
                                                  : row) ||
      (row == 0 && grant.tensors.empty() && !grant.made)) {
    return Impossible(absl::StrCat("the daemon's grant: a row of ", grant.height, " x ",
                                   grant.width, " x ", grant.channels, " cannot have ",
                                   grant.row_bytes, " bytes"));
  }
  if (grant.synthetic && (grant.samples == 0 || grant.classes == 0)) {
    return Impossible("the daemon's grant: synthetic rows without samples or without classes");
  }
  const uint64_t rows = grant.batch_size;
  if (rows == 0 || grant.labels_offset % kWord != 0 || grant.ids_offset % kWord != 0 ||
      !Fits(0, rows, grant.row_bytes, grant.labels_offset) ||
      !Fits(grant.labels_offset, rows, kWord, grant.ids_offset) ||
      !Fits(grant.ids_offset, rows, kWord, grant.slot_bytes)) {
    return Impossible(absl::StrCat("the daemon's grant: slots of ", grant.slot_bytes,
                                   " bytes cannot hold ", rows, " rows of ", row,
                                   " bytes with labels at offset ", grant.labels_offset,
                                   " and sample ids at offset ", grant.ids_offset));
  }
  for (const TensorPlace& tensor : grant.tensors)
    PENSTOCK_RETURN_IF_ERROR(CheckTensor(tensor, grant));
  return grant.made ? CheckMade(grant) : absl::OkStatus();
}

absl::Status CheckSameFeed(const Grant& before, const Grant& now) {
  if (now.fingerprint != before.fingerprint || now.samples != before.samples ||
      now.row_bytes != before.row_bytes || now.tensors != before.tensors) {
    return absl::FailedPreconditionError(
        absl::StrCat("the dataset changed while the daemon was gone: the feed had fingerprint ",
                     absl::Hex(before.fingerprint, absl::kZeroPad16), " and ", before.samples,
                     " samples, and now has ", absl::Hex(now.fingerprint, absl::kZeroPad16),
                     " and ", now.samples, "; open a new session without a state"));
  }
  if (now.files == 0 || before.files == 0 || now.files == before.files) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "files of the dataset '", before.dataset,
      "' changed while the daemon was gone, and this epoch cannot continue with other files; open "
      "a new session"));
}

absl::Status CheckEntry(const shm::ControlEntry& entry, uint64_t sequence, const Grant& grant,
                        uint64_t segment_bytes) {
  const auto impossible = [&](absl::string_view what, uint64_t got) {
    return Impossible(
        absl::StrCat("the daemon announced batch ", sequence, " with ", what, " ", got));
  };
  if (entry.sequence != sequence) return impossible("the number", entry.sequence);
  if (entry.rows == 0 || entry.rows > grant.batch_size) return impossible("rows", entry.rows);
  if (entry.valid_rows > entry.rows) return impossible("valid rows", entry.valid_rows);
  if (entry.last_of_epoch > 1) return impossible("last of epoch", entry.last_of_epoch);
  if (entry.consumed > grant.epoch_samples) return impossible("consumed samples", entry.consumed);
  const uint64_t aligned = grant.made ? kPageBytes : kWord;
  if (entry.offset % aligned != 0 || !Fits(entry.offset, 1, grant.slot_bytes, segment_bytes)) {
    return impossible(absl::StrCat("in a segment of ", segment_bytes, " bytes, the offset"),
                      entry.offset);
  }
  return absl::OkStatus();
}

absl::Status CheckNotes(const shm::ControlEntry& entry, const Grant& grant, uint64_t memory_bytes) {
  const uint64_t notes = entry.notes_offset;
  if (notes >= shm::kControlBytes && notes % kWord == 0 &&
      Fits(notes, grant.batch_size, 2 * kWord, memory_bytes)) {
    return absl::OkStatus();
  }
  return Impossible(absl::StrCat("the daemon announced batch ", entry.sequence,
                                 " with its labels at offset ", notes, " of a session's ",
                                 memory_bytes, " bytes"));
}

}  // namespace penstock::client
