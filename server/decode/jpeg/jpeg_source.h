// A whole file in memory as libjpeg's source of bytes. Where the file ends too early it invents an
// end marker, as libjpeg's own sources do, and remembers that it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "server/decode/jpeg/libjpeg.h"

namespace penstock::decode {

class JpegSource {
 public:
  JpegSource();
  JpegSource(const JpegSource&) = delete;
  JpegSource& operator=(const JpegSource&) = delete;

  // `file` outlives the decompressor's use of it.
  void Reset(std::span<const std::byte> file);

  // For jpeg_decompress_struct::src; this object outlives the decompressor.
  jpeg_source_mgr* manager() { return &hooks_.manager; }

  // libjpeg wanted more than there is.
  bool exhausted() const { return hooks_.exhausted; }

  // To be asked when libjpeg has just read the header of a file's only scan: the scan's data, if
  // they end with the end marker. If they do, decoding never wants more than there is, whichever
  // part of the image is decoded and however damaged it is.
  std::optional<std::span<const uint8_t>> CompleteScan() const;

 private:
  struct Hooks {
    jpeg_source_mgr manager;  // first: libjpeg's pointer to it is a pointer to Hooks
    bool exhausted;
  };
  static boolean Fill(j_decompress_ptr info);
  static void Skip(j_decompress_ptr info, long bytes);
  static void Nothing(j_decompress_ptr) {}

  Hooks hooks_;
};

}  // namespace penstock::decode
