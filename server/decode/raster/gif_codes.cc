#include "server/decode/raster/gif_codes.h"

namespace penstock::decode {

using base::Fault;

Fault GifCodes::Read(std::span<uint8_t> into) {
  if (!cleared_) Clear();
  for (uint8_t& index : into) {
    while (run_left_ == 0) {
      uint32_t code = 0;
      if (const Fault fault = NextCode(code); fault != Fault::kNone) return fault;
      if (const Fault fault = Expand(code); fault != Fault::kNone) return fault;
    }
    index = run_[--run_left_];
  }
  return Fault::kNone;
}

void GifCodes::Clear() {
  cleared_ = true;
  code_bits_ = bits_ + 1;
  next_ = clear() + 2;
  last_ = kNone;
}

bool GifCodes::NextByte(uint32_t& byte) {
  if (left_in_block_ == 0) {
    if (at_ >= file_.size()) return false;
    left_in_block_ = std::to_integer<uint32_t>(file_[at_++]);
    if (left_in_block_ == 0) {
      --at_;  // stay at the block terminator
      return false;
    }
  }
  if (at_ >= file_.size()) return false;
  --left_in_block_;
  byte = std::to_integer<uint32_t>(file_[at_++]);
  return true;
}

Fault GifCodes::NextCode(uint32_t& code) {
  while (in_window_ < code_bits_) {
    uint32_t byte = 0;
    if (!NextByte(byte)) return Fault::kTruncated;
    window_ |= byte << in_window_;
    in_window_ += 8;
  }
  code = window_ & ((1u << code_bits_) - 1);
  window_ >>= code_bits_;
  in_window_ -= code_bits_;
  return Fault::kNone;
}

// Writes the code's indices to run_. If a new code is due, it is the previous run plus the first
// index of this one.
Fault GifCodes::Expand(uint32_t code) {
  if (code == clear()) return Clear(), Fault::kNone;
  if (code == clear() + 1) return Fault::kTruncated;
  if (last_ == kNone) {
    if (code > clear()) return Fault::kCorrupt;
    run_[0] = first_ = static_cast<uint8_t>(code);
    run_left_ = 1;
    last_ = code;
    return Fault::kNone;
  }
  if (code > next_) return Fault::kCorrupt;
  uint32_t from = code;
  if (code == next_) {  // the previous run, plus its first index
    run_[run_left_++] = first_;
    from = last_;
  }
  for (; from >= clear(); from = before_[from]) run_[run_left_++] = index_[from];
  run_[run_left_++] = first_ = static_cast<uint8_t>(from);
  if (next_ < kNone) {
    before_[next_] = static_cast<uint16_t>(last_);
    index_[next_] = first_;
    if (++next_ == 1u << code_bits_ && code_bits_ < kLongest) ++code_bits_;
  }
  last_ = code;
  return Fault::kNone;
}

}  // namespace penstock::decode
