// A file's bytes → one row. Pure: no I/O, no clock, no thread. One Decoder serves one thread and
// keeps its scratch memory between samples.
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
  explicit Decoder(const Limits& limits);
  ~Decoder();

  // Fills `row` (RowBytes(spec) bytes) with exactly what Pillow's crop and resize give, or returns
  // why not; then the row's bytes are unspecified. Never throws: what needs more memory than there
  // is gets kTooManyPixels.
  base::Fault DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                        std::span<std::byte> row);

  // The width and height that draws are made for, for tests and tools; none if there is a fault.
  struct Size {
    uint32_t width = 0, height = 0;
  };
  std::optional<Size> SizeOf(std::span<const std::byte> file, const Spec& spec);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::decode
