// Turns rows to make into what the kernel reads: their descriptions, weights and tiles, in one
// bounded buffer that is copied to the device as it is. Pure.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/gpu_decode/kernel_row.h"
#include "client/gpu_decode/row_maker.h"
#include "client/gpu_decode/taps_cache.h"

namespace penstock::gpu_decode {

// The decoded pixels of an image in device memory: RGB, interleaved.
struct DecodedImage {
  const uint8_t* pixels = nullptr;
  uint64_t pitch = 0;  // bytes from row to row, a multiple of 4
};

class KernelTables {
 public:
  // Writes into `buffer`, which outlives this object and is aligned to 16 bytes; KernelRows come
  // first, at most `max_rows`.
  KernelTables(std::span<std::byte> buffer, uint32_t max_rows);

  // The words of tables that any row with these axes needs at most.
  static uint64_t MostWords(const resample::Axis& x, const resample::Axis& y,
                            base::Interpolation interpolation);

  void Clear();

  // A row of an image. False if there is no room for it: launch what has been added, and clear.
  // **Requires**: the box lies in the image, and the axes have outputs.
  bool AddImage(const JpegRow& row, const DecodedImage& image, uint8_t* into);

  // Words of tables that fit the buffer.
  uint64_t capacity() const { return capacity_; }
  uint32_t rows() const { return rows_; }
  uint32_t max_tiles() const { return max_tiles_; }
  bool any_plain() const { return any_plain_; }
  bool any_other() const { return any_other_; }
  size_t bytes() const { return tables_offset() + size_t{used_} * sizeof(uint32_t); }
  size_t tables_offset() const;  // of the tables in the buffer, in bytes

 private:
  void Add(const KernelRow& row);
  // Offset of `words` new words, aligned to 16 bytes.
  uint32_t Allocate(uint64_t words);
  bool IsPlain(base::Interpolation interpolation) const;
  ColumnsTable AddColumns(const JpegRow& row, uint32_t shift);
  RowsTable AddRows(uint32_t shift);
  void AddTiles(const JpegRow& row, KernelRow& made);
  bool FitsShared(uint32_t tile_height) const;
  uint32_t TileHeight(const resample::Axis& y) const;
  TileInputs FindInputs(uint32_t first_output, uint32_t end) const;

  const std::span<std::byte> buffer_;
  const uint32_t max_rows_;
  uint32_t* const tables_;
  const uint64_t capacity_;  // of the tables, in words
  uint32_t rows_ = 0;
  uint32_t used_ = 0;
  uint32_t max_tiles_ = 0;
  bool any_plain_ = false, any_other_ = false;
  TapsCache taps_;
  std::shared_ptr<const resample::Taps> x_taps_, y_taps_;  // of the row that is being added
};

}  // namespace penstock::gpu_decode
