// Which rows of a filling slot were given to workers and which are done. Owned by its slot.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::feed {

class RowLedger {
 public:
  // Every row waits to be given out for the first time.
  void Reset(uint32_t rows);

  bool HasFresh() const { return fresh_ < rows_.size(); }
  uint32_t GiveFresh();          // the first row never given out yet
  void GiveAgain(uint32_t row);  // a row that came back
  void Back(uint32_t row);       // a given row ended without being decoded
  void Done(uint32_t row);       // a given row is decoded

  uint32_t given() const { return given_; }  // in workers' hands
  bool AllDone() const { return done_ == rows_.size(); }

 private:
  enum class Row : uint8_t { kWaiting, kGiven, kDone };
  void Move(uint32_t row, Row from, Row to);

  std::vector<Row> rows_;
  uint32_t fresh_ = 0;
  uint32_t given_ = 0;
  uint32_t done_ = 0;
};

}  // namespace penstock::feed
