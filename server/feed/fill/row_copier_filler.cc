#include "server/feed/fill/row_copier_filler.h"

#include <utility>

namespace penstock::feed {

std::optional<FillOutcome> RowCopierFiller::Begin(FillJob job) {
  copy::RowRun run = runs_.Begin(job.task, std::move(job.feed), *job.place, job.aside);
  run.given = job.given;
  row_copiers_.Submit(std::move(run));
  return std::nullopt;
}

std::vector<FillOutcome> RowCopierFiller::Collect(base::TimePoint) {
  std::vector<FillOutcome> ended;
  for (const copy::CopyOutcome& outcome : row_copiers_.Collect())
    ended.push_back(runs_.End(outcome));
  return ended;
}

void RowCopierFiller::TakeOverdue(base::TimePoint now, NoteOverdueRead note) {
  for (const uint64_t run : row_copiers_.TakeOverdue(now)) runs_.Overdue(run, note);
}

}  // namespace penstock::feed
