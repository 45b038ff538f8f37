// Provides a file in memory to libjpeg. At the end of a truncated file it supplies an end marker,
// like libjpeg's own sources, and remembers that it did.
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

  // **Requires**: `file` outlives the decompressor's use of it.
  void Reset(std::span<const std::byte> file);

  // For jpeg_decompress_struct::src. **Requires**: this object outlives the decompressor.
  jpeg_source_mgr* manager() { return &hooks_.manager; }

  // Whether libjpeg asked for more data than the file has.
  bool exhausted() const { return hooks_.exhausted; }

  // Returns the scan's data if they end with the end marker. Decoding then never asks for more
  // data, whichever part is decoded and however damaged it is. **Requires**: libjpeg has just read
  // the header of a file's only scan.
  std::optional<std::span<const uint8_t>> CompleteScan() const;
  // The same, if it is known to have so many bytes. **Requires**: as CompleteScan.
  std::optional<std::span<const uint8_t>> ScanOf(uint64_t bytes) const;

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
