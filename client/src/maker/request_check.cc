#include "client/src/maker/request_check.h"

#include "absl/strings/str_cat.h"
#include "common/base/units.h"

namespace penstock::client {
namespace {

absl::Status Wrong(const shm::MakeRequest& request, absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("the daemon's request for batch ", request.sequence, ": ", what));
}

}  // namespace

absl::Status CheckChannel(const shm::PythonChannel& channel, PlaceStart at) {
  if (channel.magic != shm::kPythonChannelMagic || channel.version != shm::kPythonChannelVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the daemon's channel to a Python worker has version ", channel.version, ", expected ",
        shm::kPythonChannelVersion, "; use a daemon of this library's release"));
  }
  if (channel.place == at.place && channel.start == at.start) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the daemon sent the channel of start ", channel.start,
                                          " at place ", channel.place, ", expected start ",
                                          at.start, " at place ", at.place));
}

absl::Status CheckOrder(const shm::MakeRequest& request, uint64_t last) {
  if (request.kind != shm::MakeKind::kMake) {
    return absl::InternalError(absl::StrCat("the daemon sent a request of unknown kind ",
                                            static_cast<uint32_t>(request.kind)));
  }
  if (request.sequence == last + 1) return absl::OkStatus();
  return Wrong(request, absl::StrCat("expected a request for batch ", last + 1));
}

absl::Status CheckBatch(const shm::MakeRequest& request, uint64_t segment_bytes) {
  if (request.rows == 0) return Wrong(request, "it has no rows");
  if (request.granted > request.most) {
    return Wrong(request,
                 absl::StrCat("it grants ", request.granted, " bytes of at most ", request.most));
  }
  if (request.slot_offset > segment_bytes ||
      request.data_offset > segment_bytes - request.slot_offset ||
      request.most > segment_bytes - request.slot_offset - request.data_offset) {
    return Wrong(request, absl::StrCat("its slot at ", request.slot_offset, " ends beyond its ",
                                       "segment of ", segment_bytes, " bytes"));
  }
  const uint64_t ids_end = request.ids_offset + uint64_t{request.rows} * sizeof(uint64_t);
  if (ids_end > request.data_offset) {
    return Wrong(request, absl::StrCat("its ", request.rows, " ids end at ", ids_end,
                                       ", beyond the start of the batch, ", request.data_offset));
  }
  const bool aligned = (request.slot_offset + request.ids_offset) % sizeof(uint64_t) == 0 &&
                       (request.slot_offset + request.data_offset) % kMadeAlignment == 0;
  return aligned ? absl::OkStatus() : Wrong(request, "its ids or its batch are not aligned");
}

absl::Status CheckRoom(const shm::MakeRequest& room, const shm::MakeRequest& batch) {
  if (room.sequence != batch.sequence) {
    return Wrong(room, absl::StrCat("it grants room, but batch ", batch.sequence, " is in hand"));
  }
  if (room.granted >= batch.granted && room.granted <= batch.most) return absl::OkStatus();
  return Wrong(room, absl::StrCat("it grants ", room.granted, " bytes, expected ", batch.granted,
                                  " to ", batch.most));
}

absl::Status TooLarge(const shm::MakeRequest& batch, uint64_t needed) {
  return absl::ResourceExhaustedError(
      absl::StrCat("a batch of ", batch.rows, " samples takes ", base::FormatBytes(needed),
                   ", more than max_batch_bytes, ", base::FormatBytes(batch.most),
                   "; make smaller batches, or raise max_batch_bytes"));
}

absl::Status NoRoom(const shm::MakeRequest& batch, uint64_t needed) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "a batch of ", batch.rows, " samples takes ", base::FormatBytes(needed),
      ", and the daemon's memory has room for ", base::FormatBytes(batch.granted),
      "; make smaller batches, lower prefetch_factor, or raise the daemon's pool.max"));
}

}  // namespace penstock::client
