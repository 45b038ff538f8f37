// What the supervisor is asked for, and how each item of it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/decode/core/spec.h"
#include "server/source/core/dataset.h"

namespace penstock::workers {

// One row to fill.
struct WorkItem {
  uint64_t id = 0;       // the caller's; not looked at
  uint32_t user = 0;     // whose row it is: decoded by a worker of this user
  uint64_t account = 0;  // who pays for a death over it; the caller's; 0: nobody
  const source::Dataset* dataset = nullptr;  // lives until the item's outcome is collected
  uint64_t sample = 0;
  decode::Spec spec;
  decode::DrawKey key;
  uint32_t segment = 0;     // as given to AddSegment
  uint64_t row_offset = 0;  // in the segment; decode::RowBytes(spec) bytes from there are written
  // What travels beside the image, and where it goes: a row for each block of it. The queue's
  // reader fills them, while the worker decodes.
  const source::Selection* selection = nullptr;  // null: nothing; lives as `dataset` does
  std::vector<std::byte*> field_rows = {};
  base::TimePoint given{};  // when the caller gave it; not looked at
  // Read by a thread of its own: its source is in trouble, and it takes nobody's place.
  bool aside = false;
};

// When what happened to an item, for status and traces. What did not happen takes no time. The
// worker's part is its own word, and never more than the time that there was.
struct Times {
  base::TimePoint given{};       // as the item says
  base::TimePoint read_begin{};  // a reader took it
  base::TimePoint read_end{};    // its bytes are in the worker's memory
  base::Duration held_up{};      // of the time between: there was no room for the bytes
  base::TimePoint ended{};       // decoded, or given up
  base::Duration decode{};       // the worker's time, just before `ended`
  // How long a worker slot was taken by it, alone or with those that ended at the same time and say
  // 0: by our own clock, whatever the worker says.
  base::Duration taken{};
};

enum class OutcomeKind {
  kDone,          // the row is written
  kRefused,       // the sample's fault; the row's bytes are unspecified
  kLost,          // not decoded, and that is not the sample's fault: try again
  kStrike,        // its worker died or hung with the sample in hand; `fault` says which
  kSourceFailed,  // could not be read now; `status` says what and where: try again later
};

// A read that has taken more than a second.
struct StalledRead {
  const source::Dataset* dataset = nullptr;
  base::TimePoint since;
  std::string reason;
};

// Each submitted item has exactly one. Whatever the kind, nobody writes the row any more.
struct Outcome {
  uint64_t id = 0;
  OutcomeKind kind = OutcomeKind::kDone;
  base::Fault fault = base::Fault::kNone;
  absl::Status status;
  uint32_t worker = 0;  // its number
  Times times = {};
  std::string path =
      {};  // of a refused sample, where its reader knows it better than Dataset::path
};

}  // namespace penstock::workers
