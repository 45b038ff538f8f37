// A row in the store, with its checksums. Pure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace penstock::kept {

// Where a sample's bytes are in a slot: one part for each block.
using RowParts = std::vector<std::span<std::byte>>;
uint64_t BytesOf(const RowParts& parts);

// A row's parts, one behind the other. Its memory is counted in `in_use` until the last copy from
// it has ended.
struct KeptRow {
  KeptRow(std::shared_ptr<std::atomic<uint64_t>> in_use, size_t bytes);
  ~KeptRow();

  const std::shared_ptr<std::atomic<uint64_t>> in_use;
  const std::unique_ptr<std::byte[]> data;
  const size_t bytes;
  std::vector<uint32_t> sums;  // one for each part
};

std::shared_ptr<const KeptRow> MakeKeptRow(const RowParts& parts,
                                           std::shared_ptr<std::atomic<uint64_t>> in_use);

// Copies it to the parts. False if it has other parts, or if a checksum is wrong; the parts' bytes
// are then unspecified.
bool CopyBack(const KeptRow& row, const RowParts& parts);

}  // namespace penstock::kept
