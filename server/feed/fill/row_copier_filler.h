// The fill path of rows that need no decoding: row copiers copy them, many at once.
//
// **Ownership**: owns the runs in progress; the row copiers belong to the engine.
#pragma once

#include <optional>
#include <vector>

#include "server/copy/row_copiers.h"
#include "server/feed/fill/filler.h"
#include "server/feed/fill/runs.h"

namespace penstock::feed {

class RowCopierFiller final : public Filler {
 public:
  explicit RowCopierFiller(copy::RowCopiers& row_copiers) : row_copiers_(row_copiers) {}

  size_t Capacity() const override { return row_copiers_.Capacity(); }
  bool MayRead(UserId, const Feed&, bool aside, base::TimePoint) const override {
    return !aside || row_copiers_.MayReadAside();
  }
  std::optional<FillOutcome> Begin(FillJob job) override;
  std::vector<FillOutcome> Collect(base::TimePoint now) override;
  void TakeOverdue(base::TimePoint now, NoteOverdueRead note) override;

 private:
  copy::RowCopiers& row_copiers_;
  Runs runs_;
};

}  // namespace penstock::feed
