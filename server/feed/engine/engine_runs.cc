// Rows that need no worker: those that carriers copy, and those that nobody fills.
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
  const std::vector<carry::Outcome> outcomes = carriers_.Collect();
  for (const carry::Outcome& outcome : outcomes) {
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
  for (size_t room = carriers_.Capacity(); room > 0; --room) {
    const std::optional<Next> next = NextToRead(Road::kCarriers, [](UserId) { return Turn::kNow; });
    if (!next) break;
    busy = true;
    const auto& [task, feed] = *next;
    const bool aside = ReadsOf(*feed->dataset, Road::kCarriers) == SourceHealth::Reads::kAside;
    feed->flow.Given({task.slot.value(), task.generation}, now_);
    carry::Run run = runs_.Begin(task, feed, pool_.Place(task.slot.value()), aside);
    if (aside) feed->dataset->source.BegunAside();
    run.given = now_;
    carriers_.Submit(std::move(run));
  }
  return busy;
}

bool Engine::NoteRows() {
  int noted = 0;
  for (; noted < kNotedInAPass; ++noted) {
    const std::optional<RowTask> task = core_.NextRow(Road::kNobody);
    if (!task) break;
    runs_.Note(*task, *FeedOf(task->feed), pool_.Place(task->slot.value()), core_);
  }
  return noted > 0;
}

}  // namespace penstock::feed
