// Decodes a chunk of JPEG files into the arena and makes their rows: nvJPEG, then one kernel. Knows
// nothing of retries.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/gpu_decode/chunks.h"
#include "client/gpu_decode/counted_memory.h"
#include "client/gpu_decode/decode_device.h"
#include "client/gpu_decode/kernel_tables.h"
#include "client/gpu_decode/nvjpeg_decoder.h"
#include "client/gpu_decode/nvjpeg_parser.h"
#include "client/gpu_decode/row_maker.h"
#include "common/base/status.h"

namespace penstock::gpu_decode {

// Rows of one launch: chunks and finished rows.
inline constexpr uint32_t kMaxRowsOfLaunch = 512;
inline constexpr uint32_t kMaxImagesOfChunk = 256;
// The tables of weights. The largest row (65535 pixels to 16384) needs less.
inline constexpr uint64_t kTablesBytes = uint64_t{8} << 20;

struct ChunkRow {
  const JpegRow* row = nullptr;
  uint8_t* into = nullptr;
};

struct ChunkResult {
  // Of the call as a whole, in nvJPEG's words: then no row was made.
  std::string error;
  // Otherwise, for each image, how many parts of 64 × 64 pixels nvJPEG left out. Rows of such
  // images are invalid.
  std::vector<uint32_t> unwritten_blocks;
};

class ChunkDecoder {
 public:
  // `decoder` may serve other chunk decoders, too.
  static absl::StatusOr<std::unique_ptr<ChunkDecoder>> Make(std::unique_ptr<DecodeDevice> device,
                                                            std::shared_ptr<NvjpegDecoder> decoder,
                                                            uint64_t arena_bytes);
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;
  ~ChunkDecoder();  // waits for the device

  // Before each batch: forgets what an earlier one that failed has left.
  void Begin() { tables_->Clear(); }

  // Why this row cannot be made of its file; empty if it can.
  std::string Objection(const JpegRow& row);

  // Enqueues the copy of a finished row.
  absl::Status Copy(const uint8_t* pixels, uint8_t* into, uint64_t bytes);

  // Decodes the files, makes their rows, and waits for the device.
  // **Requires**: no objection to any row; at most kMaxImagesOfChunk, which fit the arena.
  // **Errors**: the device's, and those of NvjpegDecoder::Decode.
  absl::StatusOr<ChunkResult> Decode(std::span<const ChunkRow> rows);

  // Fills a row with zeros.
  absl::Status Clear(uint8_t* row, uint64_t bytes);

  // Launches what was added, and waits for the device.
  absl::Status Finish();

  const CountedMemory& memory() const { return memory_; }  // without the decoder's
  const std::shared_ptr<NvjpegDecoder>& decoder() const { return decoder_; }

 private:
  ChunkDecoder(std::unique_ptr<DecodeDevice> device, std::shared_ptr<NvjpegDecoder> decoder,
               uint64_t arena_bytes);
  absl::Status Allocate();
  absl::StatusOr<void*> AllocateOne(uint64_t bytes, absl::string_view what);
  void PlaceAll(std::span<const ChunkRow> rows);
  absl::Status SetMarks();
  std::span<const ChunkRow> AddRows(std::span<const ChunkRow> rows);
  absl::Status Launch();
  absl::Status CountMarks();
  ChunkResult ReadCounts() const;
  std::byte* StagedCounts() const;
  MarksLaunch Marks() const;

  const std::unique_ptr<DecodeDevice> device_;
  const uint64_t arena_bytes_;
  CountedMemory memory_;
  CountedMemory pinned_;
  const std::shared_ptr<NvjpegDecoder> decoder_;
  std::unique_ptr<NvjpegParser> parser_;
  std::vector<DecodeItem> items_;    // of the current chunk
  std::vector<MarkedImage> images_;  // the same
  uint8_t* arena_ = nullptr;         // in device memory, as the next three
  std::byte* tables_on_device_ = nullptr;
  MarkedImage* images_on_device_ = nullptr;
  uint32_t* unwritten_on_device_ = nullptr;
  std::byte* staging_ = nullptr;  // pinned: tables, then images, then counts of marks
  std::unique_ptr<KernelTables> tables_;
  uint32_t nonce_ = 0;
};

}  // namespace penstock::gpu_decode
