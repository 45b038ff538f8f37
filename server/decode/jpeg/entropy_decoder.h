// Decodes the Huffman codes of a JPEG scan in libjpeg's stead: two coefficients at a lookup where
// libjpeg takes one in several steps, and more of blocks that are not wanted. The rest, from
// headers to pixels, stays libjpeg's: its parts call each other through pointers, and this is
// another such part.
//
// It gives exactly the coefficients that libjpeg's own gives. Where a scan breaks the rules in the
// least, it gives up instead, and the file is for libjpeg alone, from its start.
//
// Memory: 64 KiB.
#pragma once

#include <cstdint>
#include <span>

#include "server/decode/jpeg/huffman.h"
#include "server/decode/jpeg/libjpeg.h"
#include "server/decode/jpeg/scan_bytes.h"

namespace penstock::decode {

class EntropyDecoder {
 public:
  EntropyDecoder() = default;
  EntropyDecoder(const EntropyDecoder&) = delete;
  EntropyDecoder& operator=(const EntropyDecoder&) = delete;

  // Whether it can decode what follows the header that libjpeg has read.
  static bool Knows(const jpeg_decompress_struct& info);

  // Takes libjpeg's place after jpeg_start_decompress, for a scan that it Knows and that is the
  // file's only one. `scan` is what lies between the header and the end marker. Both, and this
  // object, outlive the decompression.
  void TakeOver(jpeg_decompress_struct& info, std::span<const uint8_t> scan);

  // Columns of pixels that will be wanted; all of them before. The others' blocks are left as
  // they are.
  void KeepColumns(uint32_t first, uint32_t count);

  bool has_taken_over() const { return taken_over_; }

  // It gave up, by JpegErrors::GiveUp, after TakeOver.
  bool irregular() const { return irregular_; }

  // The decompression is over.
  void LetGo() { taken_over_ = irregular_ = false; }

 private:
  struct Hooks {
    jpeg_entropy_decoder manager;  // first: libjpeg's pointer to it is a pointer to Hooks
    EntropyDecoder* self;
  };
  struct Block {
    const DcTable* dc;
    const AcTable* ac;
    int32_t* last_dc;  // of its component
  };

  void AssignTables(const jpeg_decompress_struct& info);
  static boolean DecodeMcu(j_decompress_ptr info, JBLOCKROW* blocks);
  bool Decode(JBLOCKROW* blocks);
  template <bool kKeep>
  bool DecodeBlocks(JBLOCKROW* blocks);
  bool BeginSegment();

  Hooks hooks_;
  ScanBytes bytes_;
  DcTable dc_tables_[NUM_HUFF_TBLS];
  AcTable ac_tables_[NUM_HUFF_TBLS];
  Block blocks_[D_MAX_BLOCKS_IN_MCU];
  int block_count_;  // of an MCU
  int32_t last_dc_[MAX_COMPS_IN_SCAN];

  uint32_t mcu_width_;  // in pixels
  uint32_t mcus_per_row_;
  uint32_t column_;  // of the next MCU
  uint32_t first_kept_;
  uint32_t last_kept_;

  uint32_t restart_interval_;  // in MCUs; 0: none
  uint32_t until_restart_;
  int next_restart_;
  bool taken_over_ = false;
  bool irregular_ = false;
};

}  // namespace penstock::decode
