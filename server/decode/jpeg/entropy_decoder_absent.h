// Replaces EntropyDecoder in builds without libjpeg's private header (PENSTOCK_LIBJPEG_ALONE). It
// supports no file, so libjpeg decodes alone, with the same pixels.
#pragma once

#include <cstdint>
#include <span>

#include "server/decode/jpeg/checkpoints.h"
#include "server/decode/jpeg/libjpeg.h"

namespace penstock::decode {

class EntropyDecoder {
 public:
  static bool Knows(const jpeg_decompress_struct&) { return false; }
  void TakeOver(jpeg_decompress_struct&, std::span<const uint8_t>) {}
  void KeepColumns(uint32_t, uint32_t) {}
  void UsePoints(Checkpoints*) {}
  bool ReadToEnd(uint32_t) { return false; }
  bool has_taken_over() const { return false; }
  bool irregular() const { return false; }
  void LetGo() {}
};

}  // namespace penstock::decode
