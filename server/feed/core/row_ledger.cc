#include "server/feed/core/row_ledger.h"

#include "common/base/check.h"

namespace penstock::feed {

void RowLedger::Reset(uint32_t rows) {
  PENSTOCK_CHECK(given_ == 0);
  rows_.assign(rows, Row::kWaiting);
  fresh_ = done_ = 0;
}

void RowLedger::Move(Run run, Row from, Row to) {
  PENSTOCK_CHECK(run.first <= rows_.size() && run.count <= rows_.size() - run.first);
  for (uint32_t row = run.first; row < run.first + run.count; ++row) {
    PENSTOCK_CHECK(rows_[row] == from);
    rows_[row] = to;
  }
  if (from == Row::kGiven) given_ -= run.count;
  if (to == Row::kGiven) given_ += run.count;
  if (to == Row::kDone) done_ += run.count;
}

RowLedger::Run RowLedger::GiveFresh(uint32_t most) {
  const uint32_t left = static_cast<uint32_t>(rows_.size()) - fresh_;
  const uint32_t runs = left / most + (left % most == 0 ? 0 : 1);
  const Run run = {fresh_, runs == 0 ? 0 : left / runs + (left % runs == 0 ? 0 : 1)};
  Move(run, Row::kWaiting, Row::kGiven);
  fresh_ += run.count;
  return run;
}

void RowLedger::GiveAgain(uint32_t row, uint32_t rows) {
  Move({row, rows}, Row::kWaiting, Row::kGiven);
}

void RowLedger::Back(uint32_t row, uint32_t rows) { Move({row, rows}, Row::kGiven, Row::kWaiting); }

void RowLedger::Done(uint32_t row, uint32_t rows) { Move({row, rows}, Row::kGiven, Row::kDone); }

}  // namespace penstock::feed
