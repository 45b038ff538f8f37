#include "server/feed/fill/filler.h"

namespace penstock::feed {

void ReportToCore(const FillOutcome& outcome, Core& core) {
  switch (outcome.end) {
    case FillEnd::kDone:
      return core.RowDone(outcome.task, outcome.cost, outcome.keep);
    case FillEnd::kRefused:
      return core.RowRefused(outcome.task, outcome.cost);
    case FillEnd::kAgain:
    case FillEnd::kLost:
      return core.RowReturned(outcome.task, outcome.cost);
    case FillEnd::kNotRead:
      return;
  }
}

}  // namespace penstock::feed
