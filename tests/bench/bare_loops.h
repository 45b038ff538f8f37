// The ceiling of feeding: parallel processes that only decode, from files in memory into one row
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "server/decode/core/spec.h"
#include "tests/bench/harness/forked.h"

namespace penstock::bench {

class BareLoops {
 public:
  struct Work {
    std::vector<std::vector<std::byte>> files;  // of samples 0, 1, …: a whole epoch
    decode::Spec spec;
    uint64_t seed = 0;
  };
  // Forks `count` processes. **Requires**: this process has no other threads yet.
  static absl::StatusOr<BareLoops> Start(const Work& work, uint32_t count);

  // Which samples to decode: positions [first, first + count) of an endless sequence of epochs,
  // each in order.
  struct Range {
    uint64_t epoch = 0;  // the epoch of position 0
    uint64_t first = 0;
    uint64_t count = 0;
  };
  // Decodes the range with `processes` of the processes, each of which takes the next sample when
  // it is ready. Returns samples per second.
  absl::StatusOr<double> Run(const Range& range, uint32_t processes);

 private:
  struct Board;
  BareLoops(Shared<Board> board, std::vector<ForkedChild> children);
  static int Serve(const Work& work, Board& board, uint32_t number);

  Shared<Board> board_;
  std::vector<ForkedChild> children_;
};

// Memory shared by the children and the parent.
struct BareLoops::Board {
  std::atomic<uint32_t> order{0};  // futex of the children; changes with each order
  std::atomic<uint32_t> done{0};   // futex of the parent: number of children that are done
  std::atomic<uint64_t> next{0};   // next position in the range
  // The order itself. The parent writes it while no child works.
  Range range;
  uint32_t processes = 0;
};

}  // namespace penstock::bench
