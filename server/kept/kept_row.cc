#include "server/kept/kept_row.h"

#include <utility>

#include "server/kept/summed_copy.h"

namespace penstock::kept {
uint64_t BytesOf(const RowParts& parts) {
  uint64_t bytes = 0;
  for (const std::span<std::byte>& part : parts) bytes += part.size();
  return bytes;
}

MemoryRow::MemoryRow(const RowParts& parts, std::shared_ptr<std::atomic<uint64_t>> in_use)
    : in_use_(std::move(in_use)),
      bytes_(BytesOf(parts)),
      data_(std::make_unique_for_overwrite<std::byte[]>(bytes_)) {
  *in_use_ += bytes_;
  std::span<std::byte> rest = data();
  for (const std::span<std::byte>& part : parts) {
    sums_.push_back(CopyWithSum(part, rest.first(part.size())));
    rest = rest.subspan(part.size());
  }
}

MemoryRow::~MemoryRow() { *in_use_ -= bytes_; }

KeptRow::Copied MemoryRow::CopyTo(const RowParts& parts) const {
  if (bytes_ != BytesOf(parts) || sums_.size() != parts.size()) return Copied::kWrong;
  std::span<const std::byte> rest = data();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (CopyWithSum(rest.first(parts[i].size()), parts[i]) != sums_[i]) return Copied::kWrong;
    rest = rest.subspan(parts[i].size());
  }
  return Copied::kDone;
}

}  // namespace penstock::kept
