// Which rows are read next, how, and what becomes of those that cannot be.
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/telemetry/log.h"
#include "server/feed/engine/engine.h"
#include "server/source/core/retry_policy.h"

namespace penstock::feed {
namespace {

// Shorter than this a source is slow, and no more than that.
constexpr base::Duration kShown = std::chrono::seconds(1);

}  // namespace

// ---- Before. ----

SourceHealth::Reads Engine::ReadsOf(const DatasetState& dataset, FillPath fill_path) const {
  const SourceHealth::Reads reads = dataset.source.MayRead(now_);
  if (reads != SourceHealth::Reads::kAside) return reads;
  const bool possible =
      fill_path == FillPath::kWorkers ? workers_.MayReadAside() : row_copiers_.MayReadAside();
  return possible ? reads : SourceHealth::Reads::kNotNow;
}

// Rows that could not be read come first: they are of earlier batches.
std::optional<Engine::Next> Engine::NextToRead(FillPath fill_path, Core::MayHave may_have) {
  std::optional<UserId> waits;
  const auto may_read = [&](UserId user, const Feed& feed) {
    if (losses_.AnyPaused(now_) && losses_.IsPaused(feed.account, now_)) return false;
    const SourceHealth::Reads reads = ReadsOf(*feed.dataset, fill_path);
    if (reads == SourceHealth::Reads::kNotNow) return false;
    return fill_path != FillPath::kWorkers ||
           rows_.MayRead(user, reads == SourceHealth::Reads::kAside);
  };
  const auto may_go_on = [&](const HeldRow& row) {
    if (!may_read(row.task.user, *row.feed)) return false;
    const Turn turn = may_have(row.task.user);
    if (turn == Turn::kLater) waits = row.task.user;
    return turn == Turn::kNow;
  };
  if (std::optional<HeldRow> held = held_.Next(fill_path, now_, may_go_on))
    return Next{held->task, std::move(held->feed)};
  const bool all_well = troubled_.empty() && !losses_.AnyPaused(now_);
  const std::optional<RowTask> task = core_.NextRow(
      fill_path, may_have,
      [&](UserId user, FeedId id) { return all_well || may_read(user, *FeedOf(id)); });
  if (task) return Next{*task, FeedOf(task->feed)};
  if (waits) core_.Claim(fill_path, *waits);
  return std::nullopt;
}

// ---- Afterwards. ----

void Engine::NoteTrouble(const Feed& feed, const std::string& reason) {
  if (!troubled_.insert(feed.dataset).second) return;
  PENSTOCK_LOG(kWarning, "source_trouble", {"dataset", feed.dataset->name}, {"reason", reason});
}

void Engine::ReadCameBack(const Feed& feed, const SourceHealth::Read& read) {
  feed.dataset->source.CameBack(read, now_);
}

void Engine::ReadFailed(const RowTrouble& row, const SourceHealth::Read& read,
                        const absl::Status& why) {
  if (absl::IsDataLoss(why)) {  // what is stored is not what was indexed, and stays so
    ReadCameBack(*row.feed, read);
    core_.RowReturned(row.task);
    return FailFeedOnce(row.feed, why);
  }
  SourceHealth& source = row.feed->dataset->source;
  const std::string reason(why.message());
  source.Failed(read, now_, reason);
  NoteTrouble(*row.feed, reason);
  RowTask task = row.task;
  // A row that waited while the source was in trouble was no better off than those that were tried.
  const base::TimePoint since = std::min(now_, source.trouble()->since);
  task.failing_since = task.failed_reads++ == 0 ? since : std::min(task.failing_since, since);
  const auto wait = source::RetryPolicy{.total = options_.retry_for}.WaitAfter(
      task.failed_reads, now_ - task.failing_since);
  if (wait && row.feed->failed.ok() && core_.IsWanted(task)) {
    held_.Hold({task, row.feed, reason}, now_ + *wait);
    return;
  }
  core_.RowReturned(task);
  if (wait) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.retry_for).count();
  FailFeedOnce(row.feed, base::Annotate(why, absl::StrCat("samples could not be read for ", seconds,
                                                          " s, see to their storage")));
}

void Engine::FailFeedOnce(const std::shared_ptr<Feed>& feed, const absl::Status& why) {
  if (!feed->failed.ok()) return;
  feed->failed = why;
  FailFeed(*feed, why);
}

void Engine::NoteOverdue() {
  const auto note = [this](const std::shared_ptr<Feed>& feed, uint64_t sample,
                           const SourceHealth::Read& read) {
    const std::string reason =
        absl::StrCat(feed->dataset->dataset->path(sample), ": the read does not come back");
    feed->dataset->source.Overdue(read, now_, reason);
    NoteTrouble(*feed, reason);
  };
  for (const uint64_t item : workers_.TakeOverdue()) rows_.Overdue(item, note);
  for (const uint64_t run : row_copiers_.TakeOverdue(now_)) runs_.Overdue(run, note);
}

// Rows that nobody wants any more wait for nothing.
void Engine::LookAtSources() {
  NoteOverdue();
  held_.Drop(
      [this](const HeldRow& row) { return row.feed->failed.ok() && core_.IsWanted(row.task); },
      [this](const HeldRow& row) { core_.RowReturned(row.task); });
  std::erase_if(troubled_, [](const auto& dataset) {
    if (!dataset->source.is_well()) return false;
    PENSTOCK_LOG(kInfo, "source_is_well", {"dataset", dataset->name});
    return true;
  });
}

std::optional<Engine::Stall> Engine::StallOf(const Feed& feed, base::TimePoint now) const {
  std::optional<Stall> longest;
  if (const auto& trouble = feed.dataset->source.trouble())
    longest = {trouble->since, trouble->reason};
  if (const HeldRow* held = held_.OldestOf(feed))
    if (!longest || held->task.failing_since < longest->since)
      longest = {held->task.failing_since, held->reason};
  if (longest && now - longest->since < kShown) return std::nullopt;
  return longest;
}

}  // namespace penstock::feed
