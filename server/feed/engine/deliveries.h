// Connects the core with the consumers: turns what consumers write to their control pages into
// events of the core, and writes the core's announcements to their pages.
//
// **Ownership**: owns nothing; uses the engine's parts. **Thread safety**: the runner's thread
// only.
#pragma once

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/segment_sender.h"
#include "server/feed/engine/statistics.h"
#include "server/feed/engine/trace_recorder.h"
#include "server/feed/sessions/session_table.h"
#include "server/pool/pool.h"

namespace penstock::feed {

class Deliveries {
 public:
  Deliveries(Core& core, const pool::Pool& pool, SessionTable& sessions, SegmentSender& segments,
             Statistics& statistics, TraceRecorder& trace)
      : core_(core),
        pool_(pool),
        sessions_(sessions),
        segments_(segments),
        statistics_(statistics),
        trace_(trace) {}

  // Returns whether anything was released. A consumer that writes invalid values fails alone.
  bool Listen(base::TimePoint now);
  // Announces what is ready. Returns whether there was anything.
  bool Announce(base::TimePoint now);

 private:
  bool ListenTo(uint64_t id, base::TimePoint now);
  void AnnounceTo(SessionRecord& session, const Announcement& announcement, base::TimePoint now);
  absl::Status Prepare(const SessionRecord& session, const Announcement& announcement,
                       const pool::SlotPlace& place, const pool::Segment& segment);
  void Note(SessionRecord& session, const Announcement& announcement, base::TimePoint now);

  Core& core_;
  const pool::Pool& pool_;
  SessionTable& sessions_;
  SegmentSender& segments_;
  Statistics& statistics_;
  TraceRecorder& trace_;
};

}  // namespace penstock::feed
