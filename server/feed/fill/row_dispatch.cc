#include "server/feed/fill/row_dispatch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"
#include "server/feed/fill/rows.h"
#include "server/feed/identity/samples.h"
#include "server/source/core/retry_policy.h"

namespace penstock::feed {
namespace {

// A shorter delay means only that the source is slow.
constexpr base::Duration kShown = std::chrono::seconds(1);
// So many samples' next uses are said while a row begins, so that all are said early in an epoch.
constexpr uint64_t kSaidForEachRow = 8;

// What is read of each sample. Of stored rows that are images, the feed selects what lies beside
// them.
source::Selection WhatIsRead(const Feed& feed) {
  source::Selection read = feed.spec.selection;
  if (!feed.spec.stored_images) return read;
  const source::FieldRequest image = {.name = source::kImage};
  const auto selected = feed.dataset->dataset->Select({&image, 1});
  if (selected.ok())
    read.fields.insert(read.fields.end(), selected->fields.begin(), selected->fields.end());
  return read;
}

}  // namespace

RowDispatch::RowDispatch(base::Duration retry_for, Core& core, const pool::Pool& pool,
                         FeedBook& feeds, const Fillers& fillers, Events events)
    : retry_for_(retry_for),
      core_(core),
      pool_(pool),
      feeds_(feeds),
      fillers_(fillers),
      events_(std::move(events)) {}

// ---- Giving rows out ----

bool RowDispatch::GiveOut(base::TimePoint now) {
  bool busy = false;
  for (size_t fill_path = 0; fill_path < kFillPaths; ++fill_path)
    busy |= GiveOut(static_cast<FillPath>(fill_path), now);
  return busy;
}

bool RowDispatch::GiveOut(FillPath fill_path, base::TimePoint now) {
  bool busy = false;
  for (size_t headroom = FillerOf(fill_path).Capacity(); headroom > 0; --headroom) {
    const std::optional<Next> next = NextToRead(fill_path, now);
    if (!next) break;
    busy = true;
    Begin(fill_path, *next, now);
  }
  FillerOf(fill_path).GivenOut(now);
  return busy;
}

void RowDispatch::Begin(FillPath fill_path, const Next& next, base::TimePoint now) {
  const std::shared_ptr<Feed> feed = next.feed;
  SourceHealth& source = feed->dataset->source;
  const FillJob job = {.task = next.task,
                       .feed = feed,
                       .place = &pool_.Place(next.task.slot.value()),
                       .aside = source.MayRead(now) == SourceHealth::Reads::kAside,
                       .given = now};
  if (const std::optional<FillOutcome> ended = FillerOf(fill_path).Begin(job))
    return End(fill_path, *ended, now);
  PENSTOCK_FAILPOINT("row.given_out");
  feed->flow.Given({job.task.slot.value(), job.task.generation}, now);
  if (job.aside) source.BegunAside();
}

bool RowDispatch::MayRead(const Filler& filler, UserId user, const Feed& feed,
                          base::TimePoint now) const {
  const SourceHealth::Reads reads = feed.dataset->source.MayRead(now);
  return reads != SourceHealth::Reads::kNotNow &&
         filler.MayRead(user, feed, reads == SourceHealth::Reads::kAside, now);
}

// Rows that could not be read go first, because they belong to earlier batches.
std::optional<RowDispatch::Next> RowDispatch::NextToRead(FillPath fill_path, base::TimePoint now) {
  const Filler& filler = FillerOf(fill_path);
  std::optional<UserId> waits;
  const auto may_go_on = [&](const HeldRow& row) {
    if (!MayRead(filler, row.task.user, *row.feed, now)) return false;
    const Turn turn = filler.TurnOf(row.task.user);
    if (turn == Turn::kLater) waits = row.task.user;
    return turn == Turn::kNow;
  };
  if (std::optional<HeldRow> held = held_.Next(fill_path, now, may_go_on))
    return Next{held->task, std::move(held->feed)};
  const bool all_well = troubled_.empty() && !filler.HoldsBack(now);
  const std::optional<RowTask> task = core_.NextRow(
      fill_path, [&](UserId user) { return filler.TurnOf(user); },
      [&](UserId user, FeedId id) {
        return all_well || MayRead(filler, user, *feeds_.InUse(id), now);
      });
  ExpectAhead();
  if (task) return Next{*task, feeds_.InUse(task->feed)};
  if (waits) core_.Claim(fill_path, *waits);
  return std::nullopt;
}

// What lies far away is fetched while earlier rows are filled.
void RowDispatch::ExpectAhead() {
  for (const Core::Ahead& ahead : core_.ahead()) {
    const std::shared_ptr<Feed> feed = feeds_.InUse(ahead.feed);
    if (!feed->dataset->dataset->is_remote()) continue;
    const bool begins_now = &ahead == &core_.ahead().front();
    if (begins_now) uses_.Begin(feed, ahead);
    Expect(*feed, ahead.position);
    if (begins_now) SayUses(*feed, kSaidForEachRow * ahead.position.rows);
  }
}

void RowDispatch::Expect(const Feed& feed, const plan::Position& position) {
  std::vector<uint64_t> samples(position.rows);
  Place at = {.epoch = position.epoch, .place = position.first};
  PlannedFrom(feed.spec, at, samples);
  const source::Selection selection = WhatIsRead(feed);
  for (const uint64_t sample : samples) {
    if (feed.kept == nullptr || !feed.kept->Find(sample))
      feed.dataset->dataset->Expect(sample, selection, uses_.TimesAfter(feed, at, sample));
    ++at.place;
  }
}

// A cache may hold more than this feed has read.
void RowDispatch::SayUses(const Feed& feed, uint64_t most) {
  const auto [first, end] = uses_.TakeUnsaid(feed, most);
  for (uint64_t sample = first; sample < end; ++sample)
    feed.dataset->dataset->NoteUse(sample, feed.spec.selection, uses_.NextTimes(feed, sample).next);
}

// ---- Handling the outcome ----

bool RowDispatch::Collect(FillPath fill_path, base::TimePoint& now) {
  const std::vector<FillOutcome> outcomes = FillerOf(fill_path).Collect(now);
  for (const FillOutcome& outcome : outcomes) {
    if (outcome.times) now = std::max(now, outcome.times->ended);
    End(fill_path, outcome, now);
  }
  return !outcomes.empty();
}

void RowDispatch::End(FillPath fill_path, const FillOutcome& outcome, base::TimePoint now) {
  PENSTOCK_FAILPOINT("row.outcome_collected");
  ReportToCore(outcome, core_);
  PENSTOCK_FAILPOINT("row.done");
  events_.ended(fill_path, outcome);
  if (!outcome.bad_sample.ok())
    PENSTOCK_LOG(kWarning, "sample_replaced", {"dataset", outcome.feed->dataset->name},
                 {"sample", outcome.sample},
                 {"path", outcome.feed->dataset->dataset->path(outcome.sample)},
                 {"user", outcome.task.user.value()}, {"reason", outcome.bad_sample.message()});
  if (outcome.quarantine_grew) events_.quarantine_grew(*outcome.feed->dataset);
  if (outcome.read) NoteRead(outcome, now);
  if (!outcome.feed_failed.ok()) Fail(outcome.feed, outcome.feed_failed);
}

void RowDispatch::NoteRead(const FillOutcome& outcome, base::TimePoint now) {
  SourceHealth& source = outcome.feed->dataset->source;
  if (outcome.end == FillEnd::kNotRead) return ReadFailed(outcome, now);
  if (outcome.kept || outcome.end == FillEnd::kLost) return source.Dropped(*outcome.read);
  source.CameBack(*outcome.read, now);
}

void RowDispatch::ReadFailed(const FillOutcome& outcome, base::TimePoint now) {
  SourceHealth& source = outcome.feed->dataset->source;
  if (absl::IsDataLoss(outcome.why)) {  // the stored data is not what was indexed: permanent
    source.CameBack(*outcome.read, now);
    core_.RowReturned(outcome.task);
    return Fail(outcome.feed, outcome.why);
  }
  const std::string reason(outcome.why.message());
  source.Failed(*outcome.read, now, reason, outcome.task.user.value());
  NoteTrouble(*outcome.feed, outcome.sample, reason);
  RowTask task = outcome.task;
  // Rows that waited while the source was failing count as failing since then, like those tried.
  const base::TimePoint since = std::min(now, source.trouble()->since);
  task.failing_since = task.failed_reads++ == 0 ? since : std::min(task.failing_since, since);
  TryAgainOrFail(outcome, task, now);
}

void RowDispatch::TryAgainOrFail(const FillOutcome& outcome, RowTask task, base::TimePoint now) {
  const auto wait = source::RetryPolicy{.total = retry_for_}.WaitAfter(task.failed_reads,
                                                                       now - task.failing_since);
  if (wait && outcome.feed->failed.ok() && core_.IsWanted(task))
    return held_.Hold({task, outcome.feed, std::string(outcome.why.message())}, now + *wait);
  core_.RowReturned(task);
  if (wait) return;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now - task.failing_since).count();
  Fail(outcome.feed, base::Annotate(outcome.why, absl::StrCat("samples could not be read for ",
                                                              seconds, " s; check their storage")));
}

void RowDispatch::Fail(const std::shared_ptr<Feed>& feed, const absl::Status& why) {
  if (!feed->failed.ok()) return;
  feed->failed = why;
  // Whoever begins again needs all batches of its streams from their new workers, so none from
  // slots.
  if (feed->spec.python && feed->spec.python->streams > 0) feeds_.End(feed->id);
  events_.feed_failed(*feed, why);
}

// ---- Failing sources ----

void RowDispatch::NoteTrouble(const Feed& feed, uint64_t sample, const std::string& reason) {
  if (!troubled_.insert(feed.dataset).second) return;
  PENSTOCK_LOG(kWarning, "source_trouble", {"dataset", feed.dataset->name}, {"sample", sample},
               {"path", feed.dataset->dataset->path(sample)}, {"reason", reason});
}

void RowDispatch::NoteOverdue(base::TimePoint now) {
  const auto note = [&](const std::shared_ptr<Feed>& feed, uint64_t sample,
                        const SourceHealth::Read& read) {
    const std::string reason =
        absl::StrCat(feed->dataset->dataset->path(sample), ": the read is blocked");
    feed->dataset->source.Overdue(read, now, reason, feeds_.At(feed->id).user.value());
    NoteTrouble(*feed, sample, reason);
  };
  for (Filler* filler : fillers_) filler->TakeOverdue(now, note);
}

// Rows that nobody wants any more need not wait.
void RowDispatch::Tick(base::TimePoint now) {
  NoteOverdue(now);
  held_.Drop(
      [this](const HeldRow& row) { return row.feed->failed.ok() && core_.IsWanted(row.task); },
      [this](const HeldRow& row) { core_.RowReturned(row.task); });
  std::erase_if(troubled_, [](const auto& dataset) {
    if (!dataset->source.is_well()) return false;
    PENSTOCK_LOG(kInfo, "source_is_well", {"dataset", dataset->name});
    return true;
  });
}

// Another user's trouble delays the feed only while its source is not read freely. The feed's user
// may not know of the sample that the reason names.
std::optional<SourceHealth::Trouble> RowDispatch::FindTrouble(const Feed& feed,
                                                              base::TimePoint now) const {
  const SourceHealth& source = feed.dataset->source;
  std::optional<SourceHealth::Trouble> trouble = source.trouble();
  if (!trouble || trouble->user == feeds_.At(feed.id).user.value()) return trouble;
  if (source.MayRead(now) == SourceHealth::Reads::kFreely) return std::nullopt;
  trouble->reason = "reads from the dataset's storage fail or are blocked";
  return trouble;
}

std::optional<SourceHealth::Trouble> RowDispatch::StallOf(const Feed& feed,
                                                          base::TimePoint now) const {
  std::optional<SourceHealth::Trouble> longest = FindTrouble(feed, now);
  if (const HeldRow* held = held_.OldestOf(feed)) {
    const uint32_t user = held->task.user.value();
    const base::TimePoint since = held->task.failing_since;
    if (!longest || since < longest->since)
      longest = {since, held->reason, user};
    else if (longest->user != user)
      longest = {longest->since, held->reason, user};
  }
  if (longest && now - longest->since < kShown) return std::nullopt;
  return longest;
}

}  // namespace penstock::feed
