#include "server/workers/program/segment_table.h"

#include <cstring>

#include "common/posix/socket.h"

namespace penstock::workers {

absl::Status SegmentTable::Receive() {
  for (;;) {
    auto message = posix::Receive(socket_, sizeof(SegmentMessage), base::Duration::zero());
    if (absl::IsDeadlineExceeded(message.status())) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(message.status());
    PENSTOCK_RETURN_IF_ERROR(Take(message->bytes, message->fds));
  }
}

absl::Status SegmentTable::Take(std::span<const std::byte> bytes, std::span<posix::Fd> fds) {
  SegmentMessage message;
  if (bytes.size() != sizeof(message)) {
    return absl::InternalError(absl::StrCat("a segment message of ", bytes.size(), " bytes"));
  }
  std::memcpy(&message, bytes.data(), sizeof(message));
  if (message.verb == SegmentVerb::kForget) {
    segments_.erase(message.segment);
    return absl::OkStatus();
  }
  if (message.verb != SegmentVerb::kUse || fds.size() != 1) {
    return absl::InternalError("an invalid segment message");
  }
  PENSTOCK_ASSIGN_OR_RETURN(segments_[message.segment],
                            posix::Mapping::Map(fds[0], message.bytes, posix::Access::kReadWrite));
  return absl::OkStatus();
}

absl::StatusOr<std::span<std::byte>> SegmentTable::Find(uint32_t segment) {
  if (!segments_.contains(segment)) PENSTOCK_RETURN_IF_ERROR(Receive());
  const auto found = segments_.find(segment);
  if (found != segments_.end()) return found->second.bytes();
  return absl::InternalError(absl::StrCat("segment ", segment, " was never given"));
}

}  // namespace penstock::workers
