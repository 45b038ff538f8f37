// Rows that need no worker: those that carriers copy, and those that nobody fills.
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/feed/engine.h"

namespace penstock::feed {
namespace {

// Batches that nobody fills cost a few microseconds each: what else waits is looked at in between.
constexpr int kNotedInAPass = 64;

}  // namespace

std::shared_ptr<Feed> Engine::FeedOf(const RowTask& task) const {
  std::shared_ptr<Feed> feed = feeds_.At(task.feed).feed.lock();
  PENSTOCK_CHECK(feed != nullptr);
  return feed;
}

bool Engine::CollectRuns() {
  const std::vector<carry::Outcome> outcomes = carriers_.Collect();
  for (const carry::Outcome& outcome : outcomes) {
    const RowTrouble trouble = runs_.End(outcome, core_);
    NoteCarried(outcome, trouble);
    if (trouble.feed_failed.ok() || !trouble.feed->failed.ok()) continue;
    trouble.feed->failed = trouble.feed_failed;
    FailFeed(*trouble.feed, trouble.feed_failed);
  }
  return !outcomes.empty();
}

bool Engine::SubmitRuns() {
  bool busy = false;
  for (size_t room = carriers_.Capacity(); room > 0; --room) {
    const std::optional<RowTask> task = core_.NextRow(Road::kCarriers);
    if (!task) break;
    busy = true;
    const std::shared_ptr<Feed> feed = FeedOf(*task);
    feed->flow.Given({task->slot.value(), task->generation}, now_);
    carry::Run run = runs_.Begin(*task, feed, pool_.Place(task->slot.value()));
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
    runs_.Note(*task, *FeedOf(*task), pool_.Place(task->slot.value()), core_);
  }
  return noted > 0;
}

std::optional<Engine::Stall> Engine::StallOf(const Feed& feed, base::TimePoint now) const {
  std::optional<Stall> longest;
  const auto note = [&](base::TimePoint since, const std::string& reason) {
    if (!longest || since < longest->since) longest = {since, reason};
  };
  if (RoadOf(feed.spec) == Road::kCarriers) {
    for (const carry::Carriers::Stall& stall : carriers_.Stalls(now))
      if (runs_.FeedOf(stall.id) == &feed) note(stall.since, stall.reason);
    return longest;
  }
  for (const workers::WorkerView& worker : workers_.View(now))
    if (worker.stalled && worker.stalled->dataset == feed.dataset->dataset.get())
      note(worker.stalled->since, worker.stalled->reason);
  return longest;
}

}  // namespace penstock::feed
