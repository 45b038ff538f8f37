// Files of rows that need no decoding, and the same rows, with as much room for them, in memory:
// what a daemon copies, and what memcpy makes of it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/bench/daemon.h"
#include "tests/bench/scratch.h"

namespace penstock::bench {

enum class RowFormat { kIdx, kNpy, kTokens, kCheckedTokens };

struct RowKind {
  RowFormat format;
  std::string what;                  // for people
  uint32_t height, width, channels;  // of idx; of the others one side after the other, in elements
  uint64_t row_bytes;
  uint64_t stride_bytes;  // from one row to the next; less: rows overlap
  uint32_t batch;
};

class RowFiles {
 public:
  // So many rows as fit `bytes`.
  static absl::StatusOr<RowFiles> Make(const ScratchFolder& folder, const RowKind& kind,
                                       uint64_t bytes);

  Daemon::Serves Serves(const ScratchFolder& folder) const;
  uint32_t count() const { return count_; }

  // These rows, one after the other, into as much room as the daemon has: bytes a second.
  double Copy(const std::vector<uint64_t>& order);
  // As many bytes, in pieces of a batch.
  double CopyWhole();

 private:
  absl::Status Write(const std::string& name, const std::string& header, const char* bytes,
                     uint64_t size) const;

  RowKind kind_;
  uint32_t count_ = 0;
  uint64_t size_ = 0;  // of all rows
  std::unique_ptr<char[]> rows_;
  std::vector<char> into_;
  std::string folder_;
};

}  // namespace penstock::bench
