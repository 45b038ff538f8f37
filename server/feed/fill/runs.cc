#include "server/feed/fill/runs.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/units.h"
#include "server/feed/identity/samples.h"
#include "server/source/core/retry_policy.h"
#include "server/unpack/recipe.h"

namespace penstock::feed {
namespace {

// How much a row copier copies at once: enough that handing it over costs little, and little enough
// that several row copiers work on the earliest batch.
constexpr uint64_t kRunBytes = base::kMiB;
// How much a worker unpacks at once, as it is stored and as it is delivered. Its input memory has
// room for several such runs (workers.arena_bytes), so that the next one is read meanwhile.
constexpr uint64_t kPackedRunBytes = 256 * base::kKiB;

copy::RowRun RunFor(const RowTask& task, const Feed& feed, const pool::SlotPlace& place) {
  const pool::SlotLayout& layout = place.layout;
  copy::RowRun run;
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

FillPath ToFillPath(const FeedSpec& spec) {
  switch (spec.storage) {
    case source::Storage::kEncoded:
      return FillPath::kWorkers;
    case source::Storage::kRows:
      return spec.packed ? FillPath::kWorkers : FillPath::kRowCopiers;
    case source::Storage::kNothing:
      return FillPath::kNobody;
    case source::Storage::kMade:
      return FillPath::kPython;
  }
  return FillPath::kWorkers;
}

uint32_t RunOf(const FeedSpec& spec) {
  switch (spec.storage) {
    case source::Storage::kEncoded:
      return 1;
    case source::Storage::kRows:
      if (spec.packed)
        return static_cast<uint32_t>(std::clamp<uint64_t>(
            kPackedRunBytes / std::max(spec.selection.layout.bytes(), spec.largest_sample), 1,
            unpack::kMaxRecipeSamples));
      return static_cast<uint32_t>(
          std::clamp<uint64_t>(kRunBytes / spec.selection.layout.bytes(), 1, UINT32_MAX));
    case source::Storage::kNothing:
    case source::Storage::kMade:
      return UINT32_MAX;
  }
  return 1;
}

copy::RowRun Runs::Begin(const RowTask& task, std::shared_ptr<Feed> feed,
                         const pool::SlotPlace& place, bool aside) {
  copy::RowRun run = RunFor(task, *feed, place);
  run.id = next_run_++;
  run.aside = aside;
  in_flight_.emplace(run.id, InFlight{task, std::move(feed), run.samples.front(), aside});
  return run;
}

void Runs::Overdue(uint64_t run, NoteOverdueRead note) {
  const auto found = in_flight_.find(run);
  if (found == in_flight_.end() || found->second.overdue) return;
  InFlight& of = found->second;
  note(of.feed, of.sample, {.aside = of.aside, .took = source::kPatience});
  of.overdue = true;
}

FillOutcome Runs::End(const copy::CopyOutcome& outcome) {
  const auto found = in_flight_.find(outcome.id);
  PENSTOCK_CHECK(found != in_flight_.end());
  const InFlight run = std::move(found->second);
  in_flight_.erase(found);
  const base::Duration took = outcome.ended - outcome.begun;
  return {.task = run.task,
          .feed = run.feed,
          .end = outcome.status.ok() ? FillEnd::kDone : FillEnd::kNotRead,
          .cost = took,
          .why = outcome.status,
          .read = SourceHealth::Read{.aside = run.aside, .overdue = run.overdue, .took = took},
          .times = FillTimes{.given = outcome.given,
                             .read_begin = outcome.begun,
                             .read_end = outcome.ended,
                             .ended = outcome.ended,
                             .read = took}};
}

void WriteNotes(const RowTask& task, const Feed& feed, const pool::SlotPlace& place) {
  copy::WriteNotes(RunFor(task, feed, place));
}

}  // namespace penstock::feed
