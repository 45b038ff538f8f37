// Reads the samples of one item into a worker's input, without interpreting them: a single image,
// or packed samples behind the recipe with which the worker unpacks them.
// **Ownership**: a reader thread's. The item's dataset must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/unpack/recipe.h"
#include "server/workers/queue/channel.h"
#include "server/workers/work.h"

namespace penstock::workers {

class ItemReader {
 public:
  // `max_image_bytes` applies to an image that is a whole sample. A packed sample may fill the
  // input memory; the worker checks its image.
  struct Limits {
    uint64_t max_image_bytes = 0, arena_bytes = 0;
  };
  // **Requires**: `item` outlives the reader.
  ItemReader(const WorkItem& item, const Limits& limits) : item_(item), limits_(limits) {}

  // The input that the item needs, or the fault because of which it needs none.
  struct Input {
    uint64_t bytes = 0;         // with further images, the recipe and the rooms behind
    uint32_t recipe_bytes = 0;  // 0: the rest is the image
    bool has_image = true;
    uint32_t targets = 0;
    uint32_t checkpoint_room = 0;
    uint64_t image_room = 0;    // before that one
    uint64_t image_in_row = 0;  // of the image, which is read into its row and not into the input
    base::Fault fault = base::Fault::kNone;
    uint32_t row = 0;  // of the sample with the fault, in its run
  };
  // Opens the samples, and fills the rows that need no worker. **Errors**: as Reader::Open.
  absl::StatusOr<Input> Open();
  // Call it after Open. Returns false if a kept image is there no more: open the item anew.
  // **Requires**: `into` has Input::bytes. **Errors**: as Reader::Read.
  absl::StatusOr<bool> Read(std::span<std::byte> into);
  // How much of the room for checkpoints is in use, after Read.
  uint32_t checkpoint_bytes() const { return checkpoint_bytes_; }

 private:
  // Bytes of what precedes the recipe.
  uint64_t preamble_bytes() const {
    return item_.more_specs.size() * sizeof(MoreImage) + targets_.size() * sizeof(TargetPlace);
  }
  void WritePreamble(std::span<std::byte> into) const;
  absl::StatusOr<Input> OpenImage(const source::Dataset::Reader::Opened& opened);
  bool MayStayInRow() const;
  std::span<std::byte> ImageIn(std::span<std::byte> into) const;
  absl::StatusOr<Input> OpenRun();
  absl::StatusOr<Input> OpenSample();
  absl::StatusOr<Input> InputOfRecipe();
  absl::StatusOr<base::Fault> ReadFields(source::Dataset::Reader& reader, uint32_t row) const;
  // Where the targets' rows are. Fills targets_.
  void PlaceTargets();
  void AddRooms(Input& input);
  absl::StatusOr<bool> ReadSamples(std::span<std::byte> into);
  absl::StatusOr<base::Fault> OpenMasks();
  absl::Status ReadMasks(std::span<std::byte> into);
  void SetPlaces();
  uint64_t OffsetOf(uint32_t block) const;

  const WorkItem& item_;
  const Limits limits_;
  unpack::Recipe recipe_;
  uint32_t checkpoint_room_ = 0, checkpoint_bytes_ = 0;
  uint64_t image_room_ = 0;
  uint64_t image_bytes_ = 0;  // of an image that is a whole sample
  bool is_kept_ = false;      // … and comes from the kept ones
  bool is_in_row_ = false;    // … or is read into its row
  std::vector<TargetPlace> targets_;
  std::vector<size_t> target_tensors_;                             // of the selection
  std::vector<std::unique_ptr<source::Dataset::Reader>> readers_;  // one for each sample
};

// The sample of a row of the item.
inline uint64_t SampleOf(const WorkItem& item, uint32_t row) {
  return item.run.empty() ? item.sample : item.run.at(row);
}
inline uint32_t RowsOf(const WorkItem& item) {
  return item.run.empty() ? 1 : static_cast<uint32_t>(item.run.size());
}

// Whether the lengths of the item's variable-length fields are possible. The daemon checks this
// before it passes them on, because a hijacked worker can write anything into its user's segments.
bool HasPossibleLengths(const WorkItem& item);

}  // namespace penstock::workers
