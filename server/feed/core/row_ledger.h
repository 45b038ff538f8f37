// Which rows of a filling slot were given to workers and which are done. Owned by its slot.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::feed {

class RowLedger {
 public:
  // Every row waits to be given out for the first time.
  void Reset(uint32_t rows);

  struct Run {
    uint32_t first = 0, count = 0;
  };
  bool HasFresh() const { return fresh_ < rows_.size(); }
  // The first ones never given out yet: as few runs as hold so many each, of nearly one size,
  // because a short run costs about as much to hand over as a long one.
  Run GiveFresh(uint32_t most);
  void GiveAgain(uint32_t row, uint32_t rows = 1);  // rows that came back
  void Back(uint32_t row, uint32_t rows = 1);       // given rows ended without being filled
  void Done(uint32_t row, uint32_t rows = 1);       // given rows are filled

  uint32_t given() const { return given_; }  // in workers' hands
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
