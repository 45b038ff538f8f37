// Files of rows that need no decoding, and the same rows in memory with room to copy them: the
// input of a daemon and of memcpy. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/bench/daemon.h"
#include "tests/bench/harness/scratch.h"

namespace penstock::bench {

enum class RowFormat { kIdx, kNpy, kTokens, kCheckedTokens };

struct RowKind {
  RowFormat format;
  std::string what;                  // for display
  uint32_t height, width, channels;  // for idx; for the others the sides in elements
  uint64_t row_bytes;
  uint64_t stride_bytes;  // between the starts of rows; less than row_bytes: rows overlap
  uint32_t batch;
};

class RowFiles {
 public:
  // Makes as many rows as fit into `bytes`.
  static absl::StatusOr<RowFiles> Make(const ScratchFolder& folder, const RowKind& kind,
                                       uint64_t bytes);

  Daemon::Serves Serves(const ScratchFolder& folder) const;
  uint32_t count() const { return count_; }

  // Copies these rows, one after the other, into as much memory as the daemon uses. Bytes per
  // second.
  double Copy(const std::vector<uint64_t>& order);
  // Copies as many bytes in pieces of one batch. Bytes per second.
  double CopyWhole();

 private:
  absl::Status Write(const std::string& name, const std::string& header, const char* bytes,
                     uint64_t size) const;

  RowKind kind_;
  uint32_t count_ = 0;
  uint64_t size_ = 0;  // of all rows, in bytes
  std::unique_ptr<char[]> rows_;
  std::vector<char> into_;
  std::string folder_;
};

}  // namespace penstock::bench
