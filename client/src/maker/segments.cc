#include "client/src/maker/segments.h"

#include "client/src/connection/greet.h"

namespace penstock::client {

absl::Status MakerSegments::Understand(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const shm::DoorwayHeader header, ReadHeader(message));
  switch (header.kind) {
    case shm::DoorwayKind::kSegment:
      return Keep(std::move(message));
    case shm::DoorwayKind::kSegmentGone:
      return Forget(message);
    default:
      return absl::InternalError(absl::StrCat("the daemon sent a Python worker a message of kind ",
                                              static_cast<uint32_t>(header.kind),
                                              ", expected a segment"));
  }
}

// Ids are never reused, so a segment that comes twice is the same memory.
absl::Status MakerSegments::Keep(posix::Message message) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto segment, As<shm::DoorwaySegment>(message, 1));
  if (Has(segment.segment)) return absl::OkStatus();
  if (segments_.size() >= kMaxMakerSegments) {
    return absl::InternalError(
        absl::StrCat("the daemon sent a Python worker more than ", kMaxMakerSegments, " segments"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(message.fds[0]));
  if (segment.bytes == 0 || segment.bytes > bytes) {
    return absl::InternalError(absl::StrCat("segment ", segment.segment, ": the daemon announced ",
                                            segment.bytes, " bytes, but it has ", bytes));
  }
  segments_[segment.segment] = {
      .bytes = segment.bytes, .memory = std::move(message.fds[0]), .mapping = nullptr};
  return absl::OkStatus();
}

absl::Status MakerSegments::Forget(const posix::Message& message) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto segment, As<shm::DoorwaySegment>(message, 0));
  segments_.erase(segment.segment);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const posix::Mapping>> MakerSegments::Map(uint32_t id) {
  const auto found = segments_.find(id);
  if (found == segments_.end()) return nullptr;
  Segment& segment = found->second;
  if (segment.mapping == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(
        posix::Mapping mapping,
        posix::Mapping::Map(segment.memory, segment.bytes, posix::Access::kReadWrite));
    mapping.LeaveOutOfDumps();
    segment.mapping = std::make_shared<const posix::Mapping>(std::move(mapping));
    segment.memory.Close();
  }
  return segment.mapping;
}

}  // namespace penstock::client
