// The ceiling for decoding: libjpeg-turbo alone, called in the simplest way, on the same rows and
// columns that DecodeRow reads. It neither resizes nor checks the file. For benchmarks.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {

class BareDecoder {
 public:
  BareDecoder();
  ~BareDecoder();

  // Decodes the part of a JPEG that DecodeRow would read for the same draw, and forgets it.
  base::Fault DecodeCrop(std::span<const std::byte> file, const Spec& spec, const DrawKey& key);

  // The MCUs of the file's scan, and those with which the crop's rows begin.
  struct Grid {
    uint32_t mcus = 0, components = 0;
    uint32_t first = 0, per_row = 0;
  };
  std::optional<Grid> GridOf(std::span<const std::byte> file, const Spec& spec, const DrawKey& key);

  // Decodes the whole image, and forgets it.
  base::Fault DecodeWhole(std::span<const std::byte> file);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::decode
