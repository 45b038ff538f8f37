#include "server/decode/tiff_unpack.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock::decode {
namespace {

using base::Fault;
using Packed = std::span<const std::byte>;

Fault Copy(Packed packed, std::span<std::byte> into) {
  if (packed.size() < into.size()) return Fault::kTruncated;
  std::memcpy(into.data(), packed.data(), into.size());
  return Fault::kNone;
}

Fault UnpackRuns(Packed packed, std::span<std::byte> into) {
  size_t at = 0, done = 0;
  while (done < into.size()) {
    if (at >= packed.size()) return Fault::kTruncated;
    const auto control = std::to_integer<uint32_t>(packed[at++]);
    if (control == 128) continue;
    const bool literal = control < 128;
    const size_t count =
        std::min<size_t>(literal ? control + 1 : 257 - control, into.size() - done);
    if (packed.size() - at < (literal ? count : 1)) return Fault::kTruncated;
    if (literal) {
      std::memcpy(&into[done], &packed[at], count);
    } else {
      std::memset(&into[done], std::to_integer<int>(packed[at]), count);
    }
    at += literal ? control + 1 : 1;
    done += count;
  }
  return Fault::kNone;
}

// Words of 9 to 12 bits, the first bit the highest; each stands for bytes that were written before.
class Lzw {
 public:
  Lzw(Packed packed, std::span<std::byte> into) : packed_(packed), into_(into) {}

  Fault Run() {
    while (done_ < into_.size()) {
      uint32_t word = 0;
      if (!Next(word) || word == kEnd) return Fault::kTruncated;
      if (word == kClear) {
        words_ = kFirst;
        bits_ = kShortest;
        before_ = kNone;
        started_ = true;
        continue;
      }
      if (!started_) return Fault::kUnsupported;  // the bits' order of old writers
      if (!Put(word)) return Fault::kCorrupt;
    }
    return Fault::kNone;
  }

 private:
  static constexpr uint32_t kClear = 256, kEnd = 257, kFirst = 258, kNone = 4096;
  static constexpr uint32_t kShortest = 9, kLongest = 12;

  bool Next(uint32_t& word) {
    while (in_window_ < bits_) {
      if (at_ >= packed_.size()) return false;
      window_ = window_ << 8 | std::to_integer<uint32_t>(packed_[at_++]);
      in_window_ += 8;
    }
    in_window_ -= bits_;
    word = window_ >> in_window_ & ((1u << bits_) - 1);
    return true;
  }

  // A word's bytes lie in what was written: those of the word before it, and one more.
  bool Put(uint32_t word) {
    size_t from = 0, length = 1;
    if (word >= kFirst) {
      if (before_ == kNone || word > words_ || (word == words_ && words_ >= kNone)) return false;
      from = word == words_ ? last_at_ : starts_[word];
      length = word == words_ ? last_length_ + 1 : lengths_[word];
    }
    if (before_ != kNone && words_ < kNone) {
      starts_[words_] = last_at_;
      lengths_[words_] = last_length_ + 1;
      ++words_;
    }
    const size_t begin = done_;
    for (size_t i = 0; i < length && done_ < into_.size(); ++i)
      into_[done_++] = word < kClear ? static_cast<std::byte>(word) : into_[from + i];
    last_at_ = begin;
    last_length_ = length;
    before_ = word;
    // One word earlier than needed, as all writers do.
    while (bits_ < kLongest && words_ + 1 >= 1u << bits_) ++bits_;
    return true;
  }

  const Packed packed_;
  const std::span<std::byte> into_;
  size_t at_ = 0, done_ = 0, last_at_ = 0, last_length_ = 0;
  uint32_t window_ = 0, in_window_ = 0, bits_ = kShortest, words_ = kFirst, before_ = kNone;
  bool started_ = false;
  std::array<size_t, kNone> starts_, lengths_;
};

// All that was wanted is there: what is left is the sum of it. More data than that are refused.
Fault InflateEnd(z_stream& stream) {
  Bytef more = 0;
  stream.next_out = &more;
  stream.avail_out = 1;
  const int result = inflate(&stream, Z_SYNC_FLUSH);
  if (stream.avail_out == 0 || result == Z_DATA_ERROR) return Fault::kCorrupt;
  return result == Z_STREAM_END ? Fault::kNone : Fault::kTruncated;
}

Fault Inflate(Packed packed, std::span<std::byte> into) {
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(packed.size(), UINT32_MAX));
  if (inflateInit(&stream) != Z_OK) return Fault::kTooManyPixels;  // no memory
  Fault fault = Fault::kNone;
  size_t done = 0;
  while (fault == Fault::kNone && done < into.size()) {
    const auto room = static_cast<uInt>(std::min<size_t>(into.size() - done, 1u << 30));
    stream.next_out = reinterpret_cast<Bytef*>(&into[done]);
    stream.avail_out = room;
    const int result = inflate(&stream, Z_SYNC_FLUSH);
    done += room - stream.avail_out;
    if (done == into.size() && result == Z_STREAM_END) return inflateEnd(&stream), Fault::kNone;
    if (result == Z_MEM_ERROR) fault = Fault::kTooManyPixels;
    const bool short_of = done < into.size() && (result == Z_STREAM_END || result == Z_BUF_ERROR);
    if (short_of) fault = Fault::kTruncated;
    if (result == Z_DATA_ERROR || result == Z_NEED_DICT) fault = Fault::kCorrupt;
  }
  if (fault == Fault::kNone) fault = InflateEnd(stream);
  inflateEnd(&stream);
  return fault;
}

}  // namespace

bool Unpacks(uint32_t compression) {
  switch (static_cast<TiffCompression>(compression)) {
    case TiffCompression::kNone:
    case TiffCompression::kLzw:
    case TiffCompression::kAdobeDeflate:
    case TiffCompression::kPackBits:
    case TiffCompression::kDeflate:
      return true;
  }
  return false;
}

Fault Unpack(TiffCompression compression, Packed packed, std::span<std::byte> into) {
  if (into.empty()) return Fault::kNone;
  switch (compression) {
    case TiffCompression::kNone:
      return Copy(packed, into);
    case TiffCompression::kPackBits:
      return UnpackRuns(packed, into);
    case TiffCompression::kLzw:
      return Lzw(packed, into).Run();
    case TiffCompression::kAdobeDeflate:
    case TiffCompression::kDeflate:
      return Inflate(packed, into);
  }
  return Fault::kUnsupported;
}

}  // namespace penstock::decode
