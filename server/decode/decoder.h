// Decodes a file's bytes into one row. Pure: no I/O, no clock, no threads.
// **Thread safety**: one Decoder serves one thread; it keeps its scratch memory between samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {

class Decoder {
 public:
  explicit Decoder(const SampleLimits& limits);
  ~Decoder();

  // Fills `row` (RowBytes(spec) bytes) with exactly what Pillow's crop and resize give.
  // **Errors**: returns a fault; the row's bytes are then unspecified. Never throws: if memory runs
  // out it returns kTooManyPixels.
  base::Fault DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                        std::span<std::byte> row);

  // The image size for which random choices are drawn, for tests and tools; nullopt if there is a
  // fault.
  struct Size {
    uint32_t width = 0, height = 0;
  };
  std::optional<Size> ReadSize(std::span<const std::byte> file, const Spec& spec);
  // The same, or the fault.
  base::Fault ReadHeader(std::span<const std::byte> file, Exif exif, Size* size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::decode
