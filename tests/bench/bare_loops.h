// The ceiling of feeding: processes that do nothing but decode, side by side, from files in memory
// into a row of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "server/decode/core/spec.h"
#include "tests/bench/forked.h"

namespace penstock::bench {

class BareLoops {
 public:
  struct Work {
    std::vector<std::vector<std::byte>> files;  // of samples 0, 1, …: the whole of an epoch
    decode::Spec spec;
    uint64_t seed = 0;
  };
  // Forks `count` processes; before this process has other threads.
  static absl::StatusOr<BareLoops> Start(const Work& work, uint32_t count);

  // What to decode: the samples at [first, first + count) of an endless sequence of epochs in
  // order.
  struct Range {
    uint64_t epoch = 0;  // that place 0 is the first of
    uint64_t first = 0;
    uint64_t count = 0;
  };
  // `processes` of them share the range, each taking the next sample as it is ready: samples a
  // second.
  absl::StatusOr<double> Run(const Range& range, uint32_t processes);

 private:
  struct Board;
  BareLoops(Shared<Board> board, std::vector<ForkedChild> children);
  static int Serve(const Work& work, Board& board, uint32_t number);

  Shared<Board> board_;
  std::vector<ForkedChild> children_;
};

// What children and parent tell each other.
struct BareLoops::Board {
  std::atomic<uint32_t> order{0};  // the futex that children sleep on; changes with each order
  std::atomic<uint32_t> done{0};   // the futex that the parent sleeps on: children at the end of it
  std::atomic<uint64_t> next{0};   // place in the range
  // The order itself. Written by the parent while no child works.
  Range range;
  uint32_t processes = 0;
};

}  // namespace penstock::bench
