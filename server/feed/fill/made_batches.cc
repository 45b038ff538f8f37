#include "server/feed/fill/made_batches.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/units.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"
#include "server/feed/fill/runs.h"
#include "server/feed/identity/samples.h"

namespace penstock::feed {
namespace {

// What a batch is granted before its feed has made any: room for small batches, and for errors.
constexpr uint64_t kFirstGrant = 64 * base::kKiB;
// How often workers may die over a batch.
constexpr uint32_t kMaxDeaths = 2;

uint64_t MostBytes(const Feed& feed, const pool::SlotPlace& place) {
  const uint64_t fits = place.layout.most_made_bytes();
  return feed.spec.python ? std::min(feed.spec.python->max_batch_bytes, fits) : fits;
}

// A quarter more than any batch of the feed needed, so that most slots ask once.
uint64_t WithReserve(const Feed& feed, uint64_t needed, uint64_t most) {
  const uint64_t bytes = std::max(needed, feed.made_bytes);
  return std::min(bytes + bytes / 4, most);
}

// What a worker died over, from the plan, because the worker could have written to the slot.
std::string WhatOf(const Feed& feed, const RowTask& task, const std::optional<uint32_t>& row) {
  const uint64_t first =
      PlannedAt(feed.spec, {.epoch = task.epoch, .place = task.index + row.value_or(0)});
  if (row) return absl::StrCat("sample ", first, " of '", feed.called, "'");
  return absl::StrCat("the batch of ", task.rows, " samples that begins with sample ", first,
                      " of '", feed.called, "'");
}

std::string HowOf(const pyworkers::MakeResult& result) {
  const std::string how = result.how.empty() ? "it ended" : result.how;
  return result.words.empty() ? how : absl::StrCat(how, "; its last words: ", result.words);
}

bool ReplacesBadSamples(const Feed& feed) {
  return feed.spec.python && feed.spec.python->replace_bad_samples;
}

// Whether a death over one row ends with another sample in its place.
bool IsReplaced(const Feed& feed, const pyworkers::MakeResult& result, uint32_t rows) {
  return ReplacesBadSamples(feed) && result.row && *result.row < rows;
}

pyworkers::StreamPart ToPart(const FeedSpec& spec, const Feed& feed, const RowTask& task) {
  const uint64_t unit = PlannedAt(spec, {.epoch = task.epoch, .place = task.index});
  return {.feed = feed.id.value(),
          .stream = static_cast<uint32_t>(unit % spec.python->streams),
          .unit = unit};
}

FillTimes ToTimes(const pyworkers::MakeResult& result) {
  const base::TimePoint begun = std::max(result.given, result.ended - result.taken);
  return {.given = result.given,
          .read_begin = begun,
          .read_end = begun,
          .ended = result.ended,
          .decode = result.ended - begun};
}

}  // namespace

absl::StatusOr<pyworkers::MakeItem> MadeBatches::Begin(const FillJob& job) {
  const RowTask& task = job.task;
  const FeedSpec& spec = job.feed->spec;
  PENSTOCK_RETURN_IF_ERROR(GrantFirst(job));
  WriteNotes(task, *job.feed, *job.place);
  std::vector<uint64_t> samples;
  PENSTOCK_RETURN_IF_ERROR(Replace(job, samples));
  const pool::SlotPlace& place = *job.place;
  const uint64_t most = MostBytes(*job.feed, place);
  pyworkers::MakeItem item = {.id = next_item_++};
  shm::MakeRequest& request = item.request;
  request.rows = task.rows;
  request.segment = place.segment.value();
  request.attempt = DeathsOver(task);
  request.slot_offset = place.offset;
  request.granted = std::min(place.granted, most);
  request.most = most;
  request.epoch = task.epoch;
  request.seed = spec.seed;
  request.key_first = spec.given_by.Among(task.index);
  request.key_step = spec.given_by.ranks;
  request.ids_offset = static_cast<uint32_t>(place.layout.ids_offset);
  request.data_offset = static_cast<uint32_t>(place.layout.made_offset);
  if (spec.python && spec.python->streams > 0) {
    item.part = ToPart(spec, *job.feed, task);
    request.stream = item.part->stream;
  }
  in_flight_.emplace(item.id,
                     InFlight{.task = task, .feed = job.feed, .samples = std::move(samples)});
  return item;
}

// Writes into the slot which samples stand in for quarantined ones.
absl::Status MadeBatches::Replace(const FillJob& job, std::vector<uint64_t>& samples) {
  if (!ReplacesBadSamples(*job.feed)) return absl::OkStatus();
  RowTask row = job.task;
  row.attempt = 0;
  for (uint32_t i = 0; i < job.task.rows; ++i, ++row.index) {
    const std::optional<uint64_t> sample = SampleFor(*job.feed, row);
    if (!sample)
      return absl::DataLossError(absl::StrCat(
          "dataset '", job.feed->called,
          "': no substitute is left for its bad samples; repair them, or do not replace them"));
    samples.push_back(*sample);
  }
  std::memcpy(job.place->data + job.place->layout.ids_offset, samples.data(),
              samples.size() * sizeof(uint64_t));
  return absl::OkStatus();
}

absl::Status MadeBatches::GrantFirst(const FillJob& job) {
  const uint32_t slot = job.task.slot.value();
  const uint64_t most = MostBytes(*job.feed, *job.place);
  const uint64_t least = std::min(kFirstGrant, most);
  const uint64_t likely = WithReserve(*job.feed, 0, most);
  PENSTOCK_FAILPOINT_RETURN("python.first_room");
  return GrantEither(slot, std::max(likely, least), least);
}

// What is likely to suffice, or, if the pool is too full for that, the least.
absl::Status MadeBatches::GrantEither(uint32_t slot, uint64_t likely, uint64_t least) {
  if (likely > least && pool_.Grant(slot, likely).ok()) return absl::OkStatus();
  return pool_.Grant(slot, least);
}

absl::Status MadeBatches::GrantMore(const pyworkers::RoomNeed& need, const InFlight& batch,
                                    uint64_t most) {
  PENSTOCK_FAILPOINT_RETURN("python.room");
  return GrantEither(batch.task.slot.value(), WithReserve(*batch.feed, need.bytes, most),
                     need.bytes);
}

uint64_t MadeBatches::Grant(const pyworkers::RoomNeed& need) {
  const InFlight& batch = in_flight_.at(need.id);
  const uint32_t slot = batch.task.slot.value();
  const uint64_t most = MostBytes(*batch.feed, pool_.Place(slot));
  if (need.bytes > most) return need.granted;  // the worker says so, with both numbers
  if (const absl::Status granted = GrantMore(need, batch, most); !granted.ok()) {
    PENSTOCK_LOG(kWarning, "batch_has_no_room", {"dataset", batch.feed->called},
                 {"reason", granted.message()});
    return need.granted;
  }
  batch.feed->made_bytes = std::max(batch.feed->made_bytes, need.bytes);
  return std::max(need.granted, std::min(pool_.Place(slot).granted, most));
}

FillOutcome MadeBatches::End(const pyworkers::MakeResult& result) {
  PENSTOCK_FAILPOINT("python.result_collected");
  const auto found = in_flight_.find(result.id);
  PENSTOCK_CHECK(found != in_flight_.end());
  const InFlight batch = std::move(found->second);
  in_flight_.erase(found);

  FillOutcome ended = {.task = batch.task, .feed = batch.feed};
  switch (result.end) {
    case pyworkers::MakeEnd::kMade:
      ++made_;
      samples_ += batch.task.rows;
      batch.feed->made_bytes = std::max(batch.feed->made_bytes, result.bytes);
      break;
    case pyworkers::MakeEnd::kRaised:
      ++raised_;
      ended.keep = Keep::kNo;
      break;
    case pyworkers::MakeEnd::kStrike:
      ended = Died(batch, result);
      break;
    case pyworkers::MakeEnd::kLost:
      ended.end = FillEnd::kLost;
      break;
    case pyworkers::MakeEnd::kStreamLost:
      ended.end = FillEnd::kLost;
      ended.feed_failed = absl::UnavailableError(absl::StrCat(
          "worker process ",
          batch.feed->spec.python ? ToPart(batch.feed->spec, *batch.feed, batch.task).stream : 0,
          " of the iterable dataset '", batch.feed->called, "' died (", HowOf(result),
          "); its stream cannot be continued by another; iterate it from its beginning"));
      break;
  }
  if (ended.end == FillEnd::kDone) struck_.erase(batch.task.slot);
  ended.sample =
      PlannedAt(batch.feed->spec, {.epoch = batch.task.epoch, .place = batch.task.index});
  ended.cost = result.taken;
  ended.times = ToTimes(result);
  return ended;
}

std::optional<uint64_t> MadeBatches::SampleOf(const Feed& feed, uint64_t item,
                                              const std::optional<uint32_t>& row) const {
  const auto found = in_flight_.find(item);
  if (found == in_flight_.end() || found->second.feed.get() != &feed) return std::nullopt;
  const InFlight& batch = found->second;
  const uint32_t at = row && *row < batch.task.rows ? *row : 0;
  if (!batch.samples.empty()) return batch.samples[at];
  return PlannedAt(feed.spec, {.epoch = batch.task.epoch, .place = batch.task.index + at});
}

uint32_t MadeBatches::DeathsOver(const RowTask& task) const {
  const auto found = struck_.find(task.slot);
  if (found == struck_.end() || found->second.generation != task.generation) return 0;
  return found->second.deaths;
}

// Another sample replaces it when the batch is made again.
FillOutcome MadeBatches::Quarantine(const InFlight& batch, uint32_t row, base::Fault fault,
                                    const std::string& how) {
  DatasetState& dataset = *batch.feed->dataset;
  const uint32_t user = batch.task.user.value();
  const uint64_t sample = batch.samples[row];
  const std::string path = dataset.dataset->path(sample);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  dataset.quarantine.Add(
      {.sample = sample,
       .path = path,
       .fault = fault,
       .time_unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
       .attempts = 1,
       .stamp = dataset.dataset->stamp(sample),
       .users = {user}});
  FaultPolicy& policy = dataset.PolicyOf(user);
  policy.OnRefused(sample);
  FillOutcome ended = {.task = batch.task, .feed = batch.feed, .end = FillEnd::kAgain};
  ended.sample = sample;
  ended.bad_sample =
      absl::DataLossError(absl::StrCat("sample ", sample, " of '", batch.feed->called, "' (", path,
                                       "): ", std::string(base::FaultName(fault)), ": ", how));
  ended.feed_failed = policy.Exhausted();
  ended.quarantine_grew = true;
  if (ended.feed_failed.ok() && !dataset.quarantine.Contains(sample, user))
    ended.feed_failed = base::Annotate(ended.bad_sample, "the quarantine is full");
  return ended;
}

// Tried once more, on another process; never again.
FillOutcome MadeBatches::Died(const InFlight& batch, const pyworkers::MakeResult& result) {
  FillOutcome ended = {.task = batch.task, .feed = batch.feed, .end = FillEnd::kAgain};
  const uint32_t deaths = DeathsOver(batch.task) + 1;
  if (deaths < kMaxDeaths) {
    struck_[batch.task.slot] = {.generation = batch.task.generation, .deaths = deaths};
    return ended;
  }
  struck_.erase(batch.task.slot);
  if (IsReplaced(*batch.feed, result, batch.task.rows)) {
    const bool is_slow = result.cause == pyworkers::KillCause::kNoProgress;
    return Quarantine(batch, *result.row,
                      is_slow ? base::Fault::kTimeout : base::Fault::kWorkerCrashed, HowOf(result));
  }
  ended.end = FillEnd::kLost;
  ended.feed_failed = absl::DataLossError(
      absl::StrCat(WhatOf(*batch.feed, batch.task, result.row), ": ", deaths,
                   " worker processes died over it, the last one was ", HowOf(result),
                   "; look for what ends the process there: memory, native code, or a time-out"));
  return ended;
}

std::set<SlotId> MadeBatches::LeftBehind(UserId user, const Core& core) const {
  std::set<SlotId> slots;
  for (const auto& [item, batch] : in_flight_)
    if (batch.task.user == user && !core.IsWanted(batch.task)) slots.insert(batch.task.slot);
  return slots;
}

}  // namespace penstock::feed
