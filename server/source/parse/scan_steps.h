// Reports found samples to a ScanWatch, a few thousand at a time, and pieces one by one.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>

#include "server/source/parse/parsers.h"

namespace penstock::source {

class ScanSteps {
 public:
  explicit ScanSteps(const ScanWatch& watch) : watch_(watch) {}
  ~ScanSteps() { Tell(); }
  ScanSteps(const ScanSteps&) = delete;
  ScanSteps& operator=(const ScanSteps&) = delete;

  // **Errors**: Cancelled.
  absl::Status Add(uint64_t more) {
    untold_ += more;
    if (untold_ < kAtOnce) return absl::OkStatus();
    Tell();
    if (watch_.cancelled && watch_.cancelled())
      return absl::CancelledError("indexing was cancelled");
    return absl::OkStatus();
  }
  // A piece with at least one byte was found.
  void Note(const RemotePiece& piece) const {
    if (watch_.piece && piece.bytes > 0) watch_.piece(piece);
  }

 private:
  static constexpr uint64_t kAtOnce = 2048;

  void Tell() {
    if (watch_.found && untold_ > 0) watch_.found(untold_);
    untold_ = 0;
  }

  const ScanWatch& watch_;
  uint64_t untold_ = 0;
};

}  // namespace penstock::source
