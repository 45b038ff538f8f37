// A row in the store, with its checksums.
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

// Where a row is kept.
enum class Medium { kMemory, kFolder };
inline constexpr size_t kMedia = 2;

class KeptRow {
 public:
  enum class Copied {
    kDone,
    kWrong,   // it has other parts, or a checksum is wrong
    kFailed,  // it could not be read
  };
  virtual ~KeptRow() = default;

  virtual Medium medium() const = 0;
  virtual uint64_t bytes() const = 0;
  // Copies it to the parts, whose bytes are unspecified unless it is done.
  virtual Copied CopyTo(const RowParts& parts) const = 0;
};

// In memory: a row's parts, one behind the other. Its memory is counted in `in_use` until the last
// copy from it has ended.
class MemoryRow final : public KeptRow {
 public:
  MemoryRow(const RowParts& parts, std::shared_ptr<std::atomic<uint64_t>> in_use);
  ~MemoryRow() override;

  Medium medium() const override { return Medium::kMemory; }
  uint64_t bytes() const override { return bytes_; }
  Copied CopyTo(const RowParts& parts) const override;

  std::span<std::byte> data() const { return {data_.get(), bytes_}; }
  const std::vector<uint32_t>& sums() const { return sums_; }  // one for each part

 private:
  const std::shared_ptr<std::atomic<uint64_t>> in_use_;
  const uint64_t bytes_;
  const std::unique_ptr<std::byte[]> data_;
  std::vector<uint32_t> sums_;
};

}  // namespace penstock::kept
