// A request to the supervisor to fill a row, or a run of packed rows, and its outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/checkpoints/shelf.h"
#include "server/decode/core/spec.h"
#include "server/kept/image_shelf.h"
#include "server/source/core/dataset.h"

namespace penstock::workers {

// One row to fill, or several rows without images that workers unpack (Dataset::packed).
struct WorkItem {
  uint64_t id = 0;       // for the caller; not interpreted
  uint32_t user = 0;     // owner of the row; a worker of this user decodes it
  uint64_t account = 0;  // charged if a worker dies over the item; for the caller; 0: nobody
  const source::Dataset* dataset = nullptr;  // must live until the item's outcome is collected
  uint64_t sample = 0;
  // For a run of packed rows: all their samples, of which `sample` is the first.
  std::vector<uint64_t> run = {};
  decode::Spec spec = {};  // for an image
  decode::DrawKey key = {};
  uint32_t segment = 0;     // as given to AddSegment
  uint64_t row_offset = 0;  // in the segment; decode::RowBytes(spec) bytes are written there
  // The sample is a stored row, which is read as an image (source/core/stored_images.h).
  bool stored_image = false;
  // Further rows of the same image, each with its own place in the segment. The specs must live as
  // long as `dataset`.
  std::span<const decode::Spec> more_specs = {};
  std::vector<uint64_t> more_offsets = {};
  std::optional<uint64_t> size_offset = {};  // in the segment, of the image's height and width
  // Where the image's checkpoints are kept; null: nowhere. Must live as long as `dataset`.
  checkpoints::CheckpointShelf* shelf = nullptr;
  std::shared_ptr<kept::ImageShelf> images = {};  // where it is kept decoded; null: nowhere
  // The fields: the first row of each block of the selection, which the queue's reader fills, or a
  // worker if they are packed in the sample. A run's other rows follow directly. A worker moves
  // those that are targets (Selection::targets), and fills masks.
  const source::Selection* selection = nullptr;  // null: none; must live as long as `dataset`
  std::vector<std::byte*> field_rows = {};
  // row_offset in the same mapping; set if there are fields, or the consumer may decode the row.
  std::byte* row = nullptr;
  base::TimePoint given{};  // when the caller submitted it; not interpreted
  // Read on a thread of its own, without using headroom, because its source is failing.
  bool aside = false;
};

// When the steps of an item happened, for status and traces. Steps that did not happen take no
// time. The worker reports its own part, which is clipped to the time that passed.
struct Times {
  base::TimePoint given{};       // as in WorkItem
  base::TimePoint read_begin{};  // a reader took it
  base::TimePoint read_end{};    // its bytes are in the worker's memory
  base::Duration held_up{};      // part of the reading time spent waiting for free input memory
  base::TimePoint ended{};       // decoded, or given up
  base::Duration decode{};       // decoding time by the worker's clock, ending at `ended`
  // How long it occupied a worker slot, by our own clock. If several items end together, the first
  // has the total and the others have 0.
  base::Duration taken{};
};

enum class OutcomeKind {
  kDone,          // the row has been written
  kRefused,       // the sample's fault; the row's bytes are unspecified
  kLost,          // not decoded, through no fault of the sample: try again
  kStrike,        // its worker died or hung while decoding it; see `fault`
  kSourceFailed,  // could not be read now, see `status`: try again later
};

// A read that has taken more than a second.
struct StalledRead {
  const source::Dataset* dataset = nullptr;
  base::TimePoint since;
  std::string reason = {};
};

// The result of an item; each submitted item has exactly one. Whatever its kind, nobody writes the
// row any more.
struct Outcome {
  uint64_t id = 0;
  OutcomeKind kind = OutcomeKind::kDone;
  base::Fault fault = base::Fault::kNone;
  absl::Status status = {};
  uint32_t worker = 0;  // the worker's number
  Times times = {};
  std::string path =
      {};            // set for refused samples if the reader knows a better path than Dataset::path
  uint32_t row = 0;  // of the refused sample, in its run
};

}  // namespace penstock::workers
