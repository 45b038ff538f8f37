#include "server/feed/runs.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/units.h"
#include "server/feed/samples.h"

namespace penstock::feed {
namespace {

// What a carrier copies at once: long enough that handing it over costs little, short enough that
// several carriers work on the earliest batch.
constexpr uint64_t kRunBytes = base::kMiB;

carry::Run RunFor(const RowTask& task, const Feed& feed, const pool::SlotPlace& place) {
  const pool::SlotLayout& layout = place.layout;
  carry::Run run;
  run.dataset = feed.dataset->dataset.get();
  run.samples.resize(task.rows);
  PlannedFrom(feed.spec, {task.epoch, task.index}, run.samples);
  run.selection = &feed.spec.selection;
  for (size_t block = 0; block < layout.blocks.size(); ++block)
    run.blocks.push_back(place.Row(block, task.row));
  run.labels = place.data + layout.labels_offset + task.row * sizeof(int64_t);
  run.ids = place.data + layout.ids_offset + task.row * sizeof(uint64_t);
  return run;
}

}  // namespace

Road RoadOf(const FeedSpec& spec) {
  switch (spec.storage) {
    case source::Storage::kEncoded:
      return Road::kWorkers;
    case source::Storage::kRows:
      return Road::kCarriers;
    case source::Storage::kNothing:
      return Road::kNobody;
  }
  return Road::kWorkers;
}

uint32_t RunOf(const FeedSpec& spec) {
  switch (spec.storage) {
    case source::Storage::kEncoded:
      return 1;
    case source::Storage::kRows:
      return static_cast<uint32_t>(
          std::clamp<uint64_t>(kRunBytes / spec.selection.layout.bytes(), 1, UINT32_MAX));
    case source::Storage::kNothing:
      return UINT32_MAX;
  }
  return 1;
}

carry::Run Runs::Begin(const RowTask& task, std::shared_ptr<Feed> feed,
                       const pool::SlotPlace& place) {
  carry::Run run = RunFor(task, *feed, place);
  run.id = next_run_++;
  in_flight_.emplace(run.id, InFlight{task, std::move(feed)});
  return run;
}

RowTrouble Runs::End(const carry::Outcome& outcome, Core& core) {
  const auto found = in_flight_.find(outcome.id);
  PENSTOCK_CHECK(found != in_flight_.end());
  const InFlight run = std::move(found->second);
  in_flight_.erase(found);
  if (outcome.status.ok()) {
    core.RowDone(run.task);
  } else {
    core.RowReturned(run.task);
  }
  RowTrouble trouble;
  trouble.feed = run.feed;
  trouble.task = run.task;
  trouble.feed_failed = outcome.status;
  return trouble;
}

void Runs::Note(const RowTask& task, const Feed& feed, const pool::SlotPlace& place, Core& core) {
  carry::WriteNotes(RunFor(task, feed, place));
  core.RowDone(task);
}

const Feed* Runs::FeedOf(uint64_t run) const {
  const auto found = in_flight_.find(run);
  return found == in_flight_.end() ? nullptr : found->second.feed.get();
}

}  // namespace penstock::feed
