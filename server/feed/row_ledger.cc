#include "server/feed/row_ledger.h"

#include "common/base/check.h"

namespace penstock::feed {

void RowLedger::Reset(uint32_t rows) {
  PENSTOCK_CHECK(given_ == 0);
  rows_.assign(rows, Row::kWaiting);
  fresh_ = done_ = 0;
}

void RowLedger::Move(uint32_t row, Row from, Row to) {
  PENSTOCK_CHECK(row < rows_.size() && rows_[row] == from);
  rows_[row] = to;
  given_ += (to == Row::kGiven) - (from == Row::kGiven);
  done_ += to == Row::kDone;
}

uint32_t RowLedger::GiveFresh() {
  Move(fresh_, Row::kWaiting, Row::kGiven);
  return fresh_++;
}

void RowLedger::GiveAgain(uint32_t row) { Move(row, Row::kWaiting, Row::kGiven); }

void RowLedger::Back(uint32_t row) { Move(row, Row::kGiven, Row::kWaiting); }

void RowLedger::Done(uint32_t row) { Move(row, Row::kGiven, Row::kDone); }

}  // namespace penstock::feed
