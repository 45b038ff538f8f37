// Which rows of a filling slot are with workers, and which are done.
// **Ownership**: owned by its slot.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::feed {

class RowLedger {
 public:
  // Starts over: every row is waiting to be given out.
  void Reset(uint32_t rows);

  struct Run {
    uint32_t first = 0, count = 0;
  };
  bool HasFresh() const { return fresh_ < rows_.size(); }
  // Returns the first rows that were never given out, split into the fewest runs of at most `most`
  // rows and nearly equal size, because a short run costs almost as much to hand over as a long
  // one.
  Run GiveFresh(uint32_t most);
  void GiveAgain(uint32_t row, uint32_t rows = 1);  // gives out rows that came back
  void Back(uint32_t row, uint32_t rows = 1);       // given rows ended unfilled
  void Done(uint32_t row, uint32_t rows = 1);       // given rows are filled

  uint32_t given() const { return given_; }  // with workers
  bool AllDone() const { return done_ == rows_.size(); }

 private:
  enum class Row : uint8_t { kWaiting, kGiven, kDone };
  void Move(Run run, Row from, Row to);

  std::vector<Row> rows_;
  uint32_t fresh_ = 0;
  uint32_t given_ = 0;
  uint32_t done_ = 0;
};

}  // namespace penstock::feed
