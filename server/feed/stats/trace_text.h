// Formats a trace as JSON for Perfetto (ui.perfetto.dev) and chrome://tracing. Pure; one thread.
//
// Each worker has a track for each of its concurrent samples: "sample", containing "queue", "read",
// "queue" and "decode". Each feed has a track for each slot, with its fills. Each session has a
// track for each of its concurrent batches: "batch", containing "copy", "ready" and "held". A batch
// is always identified as "slot.generation" in the argument `batch`. An arrow leads from the
// decoding of its last sample through the slot to each of its sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/feed/stats/trace.h"

namespace penstock::feed {

class TraceText {
 public:
  explicit TraceText(Trace trace);

  // The next piece, of at most `most` bytes (at least 64 KiB); empty at the end.
  std::string Next(size_t most);
  uint64_t dropped() const { return trace_.dropped; }

 private:
  // A track's ids in the viewers.
  struct Track {
    uint64_t group = 0, lane = 0;
  };
  struct Slice;

  bool Step(std::string& text);
  void Write(const TraceRows& rows, uint64_t lane, std::string& text) const;
  void Write(const TraceFill& fill, std::string& text) const;
  void Write(const TraceBatch& batch, uint64_t lane, std::string& text) const;
  void WriteArrows(const TraceBatch& batch, const Track& at, std::string& text) const;
  void Name(uint64_t group, const std::string& name, std::string& text) const;
  void Add(const Slice& slice, const Track& at, const std::string& arguments,
           std::string& text) const;
  void Arrow(char phase, const std::string& id, const Track& at, base::TimePoint when,
             std::string& text) const;
  double Microseconds(base::TimePoint when) const;
  Track TrackOf(const TraceRows& rows, uint64_t lane) const;
  Track TrackOf(const TraceFill& fill) const;

  const Trace trace_;
  base::TimePoint origin_;
  std::vector<uint32_t> row_lanes_, batch_lanes_;
  std::map<uint64_t, uint64_t> feed_groups_;
  std::vector<std::pair<uint64_t, std::string>> names_;                // by group
  std::vector<std::pair<uint64_t, std::string>> labels_;               // by group
  std::map<std::pair<uint32_t, uint64_t>, size_t> last_rows_, fills_;  // by slot and generation
  size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace penstock::feed
