// Replaces libjpeg's Huffman decoder for a JPEG scan. It decodes two coefficients per table lookup,
// where libjpeg needs several steps for one, and more than two in blocks that are skipped.
// Everything else, from headers to pixels, stays in libjpeg, whose modules call each other through
// function pointers; this class is such a module.
// It reads no further than to the last MCU whose coefficients are wanted, and may begin at
// checkpoints instead of at the start.
//
// It produces exactly the coefficients that libjpeg produces. If a scan violates the standard in
// any way, it gives up, and libjpeg decodes the file alone from the start.
//
// Memory: 64 KiB.
#pragma once

#include <cstdint>
#include <span>

#include "server/decode/jpeg/checkpoints.h"
#include "server/decode/jpeg/huffman.h"
#include "server/decode/jpeg/libjpeg.h"
#include "server/decode/jpeg/scan_bytes.h"

namespace penstock::decode {

class EntropyDecoder {
 public:
  EntropyDecoder() = default;
  EntropyDecoder(const EntropyDecoder&) = delete;
  EntropyDecoder& operator=(const EntropyDecoder&) = delete;

  // Whether it supports the scan whose header libjpeg has just read.
  static bool Knows(const jpeg_decompress_struct& info);

  // Replaces libjpeg's decoder after jpeg_start_decompress. `scan` is the data between the header
  // and the end marker.
  // **Requires**: Knows(info) is true; the file has only this scan; `info`, `scan` and this object
  // outlive the decompression.
  void TakeOver(jpeg_decompress_struct& info, std::span<const uint8_t> scan);

  // Restricts decoding to these columns of pixels; by default all are decoded. Blocks in other
  // columns are not written.
  void KeepColumns(uint32_t first, uint32_t count);

  // Begins at these points where that saves time, and adds to them; by default there are none.
  // Call it before any MCU is decoded. **Requires**: `points` outlives the decompression.
  void UsePoints(Checkpoints* points);

  // Reads all that is left of the scan's `mcus`, from the last point on. Returns whether the scan
  // has them all, follows the standard, and ends behind them.
  bool ReadToEnd(uint32_t mcus) { return Reach(mcus) && bytes_.IsAtEnd(); }

  bool has_taken_over() const { return taken_over_; }

  // Whether it gave up (through JpegErrors::GiveUp) since TakeOver.
  bool irregular() const { return irregular_; }

  // Call it when the decompression has ended.
  void LetGo() { taken_over_ = irregular_ = false; }

 private:
  struct Hooks {
    // First member, because libjpeg's pointer to it is cast to Hooks*.
    jpeg_entropy_decoder manager;
    EntropyDecoder* self;
  };
  struct CoefficientBlock {
    const DcTable* dc;
    const AcTable* ac;
    int32_t* last_dc;  // per component
  };

  void AssignTables(const jpeg_decompress_struct& info);
  static boolean DecodeMcu(j_decompress_ptr info, JBLOCKROW* blocks);
  bool Decode(JBLOCKROW* blocks);
  // Reads up to this MCU, from the last point before it if that is nearer.
  bool Reach(uint32_t mcu);
  void Jump(uint32_t mcu, const Checkpoints::Checkpoint& point);
  bool MeetPoint();
  template <bool kKeep>
  bool DecodeNext(JBLOCKROW* blocks);
  template <bool kKeep>
  bool DecodeBlocks(JBLOCKROW* blocks);
  bool BeginSegment();

  Hooks hooks_;
  ScanBytes bytes_;
  DcTable dc_tables_[NUM_HUFF_TBLS];
  AcTable ac_tables_[NUM_HUFF_TBLS];
  CoefficientBlock blocks_[D_MAX_BLOCKS_IN_MCU];
  int block_count_;  // per MCU
  int32_t last_dc_[MAX_COMPS_IN_SCAN];

  uint32_t mcu_width_;  // in pixels
  uint32_t mcus_per_row_;
  uint32_t asked_;   // how many MCUs libjpeg has asked for
  uint32_t column_;  // of the next one that it asks for
  uint32_t next_;    // the MCU that begins at the next bit
  uint32_t first_kept_;
  uint32_t last_kept_;

  uint32_t restart_interval_;  // in MCUs; 0: none
  uint32_t until_restart_;
  int next_restart_;
  Checkpoints* points_ = nullptr;
  uint32_t next_point_;  // the next MCU where a point may be
  bool taken_over_ = false;
  bool irregular_ = false;
};

}  // namespace penstock::decode
