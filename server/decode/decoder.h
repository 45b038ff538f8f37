// Decodes a file's bytes into one row. Pure: no I/O, no clock, no threads.
// **Thread safety**: one Decoder serves one thread; it keeps its scratch memory between samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/core/checkpoint_room.h"
#include "server/decode/core/image_room.h"
#include "server/decode/core/spec.h"
#include "server/decode/core/target_row.h"

namespace penstock::decode {

class Decoder {
 public:
  explicit Decoder(const SampleLimits& limits);
  ~Decoder();

  // Where the checkpoints of the file that is decoded next are, and are to be left; null: nowhere.
  // **Requires**: `room` lives until then.
  void UseCheckpoints(CheckpointRoom* room);

  // Where the next file's image is to be left; null: nowhere. It is then decoded as a whole, with
  // the same rows and faults as otherwise. **Requires**: `room` lives until then.
  void UseImageRoom(ImageRoom* room);

  // Fills `row` (RowBytes(spec) bytes) with exactly what Pillow's crop and resize give, followed by
  // spec.recipe. With spec.undecoded the row is a place, with these pixels or with the file, which
  // may lie at its beginning already.
  // **Requires**: Validate(spec).
  // **Errors**: returns a fault; the row's bytes are then unspecified. Never throws: if memory runs
  // out it returns kTooManyPixels, or kUnfitSize if it decodes the image as a whole.
  base::Fault DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                        std::span<std::byte> row);

  // A row to fill, as DecodeRow does.
  struct Wanted {
    const Spec* spec = nullptr;
    DrawKey key;
    std::span<std::byte> row;
  };
  // Fills several rows of one image, each with the bytes that DecodeRow gives. The pixels that they
  // need are decoded once, if memory allows.
  // **Requires**: equal color and exif in all specs. **Errors**: as DecodeRow; all rows' bytes are
  // then unspecified.
  base::Fault DecodeRows(std::span<const std::byte> file, std::span<const Wanted> wanted);

  // Fills the image's row, and those of its targets. **Requires**: as DecodeRow, and what
  // TargetFiller::Fill does. **Errors**: also those of TargetFiller::Fill.
  base::Fault DecodeWithTargets(std::span<const std::byte> file, const Wanted& wanted,
                                std::span<const TargetRow> targets);

  // The image size for which random choices are drawn, for tests and tools; nullopt if there is a
  // fault.
  struct Size {
    uint32_t width = 0, height = 0;
  };
  std::optional<Size> ReadSize(std::span<const std::byte> file, const Spec& spec);
  // The same, or the fault.
  base::Fault ReadHeader(std::span<const std::byte> file, Exif exif, Size* size);
  // The size of the image in the row that was filled last: smaller than the row at most if its
  // spec has a canvas.
  Size size_made() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::decode
