// Rows that need no worker: those that row copiers copy, and those that nobody fills.
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/feed/engine/engine.h"

namespace penstock::feed {
namespace {

// Batches that nobody fills cost a few microseconds each: what else waits is looked at in between.
constexpr int kNotedInAPass = 64;

}  // namespace

std::shared_ptr<Feed> Engine::FeedOf(FeedId id) const {
  std::shared_ptr<Feed> feed = feeds_.At(id).feed.lock();
  PENSTOCK_CHECK(feed != nullptr);
  return feed;
}

bool Engine::CollectRuns() {
  const std::vector<copy::Outcome> outcomes = row_copiers_.Collect();
  for (const copy::Outcome& outcome : outcomes) {
    const RowTrouble trouble = runs_.End(outcome, core_);
    NoteCarried(outcome, trouble);
    if (outcome.status.ok()) {
      ReadCameBack(*trouble.feed, trouble.read);
    } else {
      ReadFailed(trouble, trouble.read, outcome.status);
    }
  }
  return !outcomes.empty();
}

bool Engine::SubmitRuns() {
  bool busy = false;
  for (size_t headroom = row_copiers_.Capacity(); headroom > 0; --headroom) {
    const std::optional<Next> next =
        NextToRead(FillPath::kRowCopiers, [](UserId) { return Turn::kNow; });
    if (!next) break;
    busy = true;
    const auto& [task, feed] = *next;
    const bool aside =
        ReadsOf(*feed->dataset, FillPath::kRowCopiers) == SourceHealth::Reads::kAside;
    feed->flow.Given({task.slot.value(), task.generation}, now_);
    copy::Run run = runs_.Begin(task, feed, pool_.Place(task.slot.value()), aside);
    if (aside) feed->dataset->source.BegunAside();
    run.given = now_;
    row_copiers_.Submit(std::move(run));
  }
  return busy;
}

bool Engine::NoteRows() {
  int noted = 0;
  for (; noted < kNotedInAPass; ++noted) {
    const std::optional<RowTask> task = core_.NextRow(FillPath::kNobody);
    if (!task) break;
    runs_.Note(*task, *FeedOf(task->feed), pool_.Place(task->slot.value()), core_);
  }
  return noted > 0;
}

}  // namespace penstock::feed
