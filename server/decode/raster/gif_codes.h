// Decodes a GIF's image data (LZW): variable-length codes that stand for runs of indices, in blocks
// of at most 255 bytes. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/fault.h"

namespace penstock::decode {

class GifCodes {
 public:
  // The first block begins at `at`. Codes for single indices have `bits` (1 … 11) bits.
  GifCodes(std::span<const std::byte> file, size_t at, uint32_t bits)
      : file_(file), at_(at), bits_(bits) {}

  // Reads the next indices. kTruncated: the data end. kCorrupt: an undefined code.
  base::Fault Read(std::span<uint8_t> into);

 private:
  static constexpr uint32_t kLongest = 12;
  static constexpr uint32_t kNone = 1u << kLongest;

  uint32_t clear() const { return 1u << bits_; }
  bool NextByte(uint32_t& byte);
  base::Fault NextCode(uint32_t& code);
  base::Fault Expand(uint32_t code);
  void Clear();

  std::span<const std::byte> file_;
  size_t at_;
  const uint32_t bits_;
  uint32_t left_in_block_ = 0;
  uint32_t window_ = 0, in_window_ = 0;  // bits read but not yet used
  uint32_t code_bits_ = 0, next_ = 0;    // current code size; the first undefined code
  uint32_t last_ = kNone;                // the previous code
  bool cleared_ = false;
  std::array<uint16_t, kNone> before_;  // for each code: its run without the last index
  std::array<uint8_t, kNone> index_;    // for each code: its last index
  std::array<uint8_t, kNone + 1> run_;  // in reverse
  uint32_t run_left_ = 0;
  uint8_t first_ = 0;  // of the previous run
};

}  // namespace penstock::decode
