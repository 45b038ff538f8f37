#include "server/feed/engine/segment_sender.h"

#include "common/posix/failpoint.h"

namespace penstock::feed {

absl::Status SegmentSender::Send(uint64_t peer, const pool::Segment& segment,
                                 const posix::Fd& memory) {
  std::set<uint32_t>& sent = sent_[peer];
  if (sent.contains(segment.id.value())) return absl::OkStatus();
  auto wire = MakeWire<shm::DoorwaySegment>(shm::DoorwayKind::kSegment);
  wire.segment = segment.id.value();
  wire.bytes = segment.bytes;
  PENSTOCK_FAILPOINT_RETURN("segment.before_send");
  PENSTOCK_RETURN_IF_ERROR(send_(peer, &wire, sizeof(wire), {memory.get()}));
  PENSTOCK_FAILPOINT("segment.sent");
  sent.insert(segment.id.value());
  return absl::OkStatus();
}

void SegmentSender::Gone(pool::SegmentId segment) {
  auto wire = MakeWire<shm::DoorwaySegment>(shm::DoorwayKind::kSegmentGone);
  wire.segment = segment.value();
  for (auto& [peer, sent] : sent_)
    if (sent.erase(segment.value()) > 0) {
      send_(peer, &wire, sizeof(wire), {}).IgnoreError();
      PENSTOCK_FAILPOINT("segment.taken_from_client");
    }
}

}  // namespace penstock::feed
