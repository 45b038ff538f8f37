#include "server/feed/fill/rows.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/telemetry/log.h"
#include "server/feed/identity/samples.h"
#include "server/source/core/retry_policy.h"

namespace penstock::feed {
namespace {

constexpr uint32_t kMaxPassedOver = 1000;
// Substitutes tried for one row. They are drawn at random, so of few samples each may be drawn
// several times: 16 times as many tries miss a good one once in ten million rows.
constexpr uint64_t kMaxTries = 1000, kTriesOfSample = 16;
constexpr base::Duration kSaveEvery = std::chrono::seconds(1);

std::string Describe(const Feed& feed, uint64_t sample, const std::string& path,
                     base::Fault fault) {
  const absl::string_view why = fault == base::Fault::kNone
                                    ? "this feed cannot use it: a requested field is missing or "
                                      "too long, or the image's size "
                                      "does not suit the transforms"
                                    : base::FaultName(fault);
  return absl::StrCat("sample ", sample, " of '", feed.called, "' (", path, "): ", why);
}

// Whether a row may have one more substitute.
absl::Status CheckTries(const Feed& feed, const RowTask& task) {
  if (task.attempt == 0) return absl::OkStatus();
  const uint64_t planned = PlannedAt(feed.spec, {task.epoch, task.index});
  const uint64_t most = std::min(kMaxTries, kTriesOfSample * StandInsOf(feed.spec, planned));
  if (task.attempt <= most) return absl::OkStatus();
  const source::BadSample* known = feed.dataset->quarantine.Find(planned);
  const base::Fault fault = known == nullptr ? base::Fault::kNone : known->fault;
  return absl::DataLossError(
      absl::StrCat(Describe(feed, planned, feed.dataset->dataset->path(planned), fault), "; ", most,
                   " substitutes drawn from the ", StandInsOf(feed.spec, planned),
                   " samples of this order or range could not be used either; repair the samples, "
                   "or ask for others"));
}

// A sample on which the user's GPU failed is among no share: a worker decodes it into its place.
decode::Spec SpecFor(const Feed& feed, uint64_t sample, const RowTask& task) {
  decode::Spec spec = feed.spec.decoding;
  if (spec.undecoded.place_bytes == 0) return spec;
  if (feed.dataset->quarantine.IsForWorkers(sample, task.user.value())) spec.undecoded.share = 0;
  spec.undecoded.rewrites = task.rewrites ? 1 : 0;
  return spec;
}

// Where a row of a block is, in the segment.
uint64_t OffsetOf(const pool::SlotPlace& place, size_t block, uint32_t row) {
  return place.offset + static_cast<uint64_t>(place.Row(block, row) - place.data);
}

}  // namespace

std::optional<uint64_t> SampleFor(const Feed& feed, const RowTask& task) {
  const FeedSpec& spec = feed.spec;
  const uint64_t planned = PlannedAt(spec, {task.epoch, task.index});
  uint32_t counted = 0;
  uint32_t passed_over = 0;
  for (uint32_t attempt = 0; passed_over < kMaxPassedOver; ++attempt) {
    const uint64_t sample = attempt == 0 ? planned : StandInFor(spec, task.epoch, planned, attempt);
    if (feed.dataset->quarantine.Contains(sample, task.user.value())) {
      ++passed_over;
      continue;
    }
    if (counted == task.attempt) return sample;
    ++counted;
  }
  return std::nullopt;
}

uint64_t SlotVariant(const Feed& feed) {
  const source::Quarantine& quarantine = feed.dataset->quarantine;
  return feed.spec.decoding.undecoded.place_bytes > 0 ? quarantine.version()
                                                      : quarantine.substitutes_version();
}

absl::Status StandInIn(const Feed& feed, const plan::Position& position,
                       const pool::SlotPlace& place) {
  const FeedSpec& spec = feed.spec;
  for (uint32_t row = 0; row < position.rows; ++row) {
    const uint64_t planned = PlannedAt(spec, {position.epoch, position.first + row});
    uint64_t held;
    std::memcpy(&held, place.data + place.layout.ids_offset + row * sizeof(held), sizeof(held));
    if (held == planned) continue;
    const source::BadSample* known = feed.dataset->quarantine.Find(planned);
    return absl::DataLossError(
        known == nullptr
            ? Describe(feed, planned, feed.dataset->dataset->path(planned), base::Fault::kNone)
            : Describe(feed, planned, known->path, known->fault));
  }
  return absl::OkStatus();
}

absl::StatusOr<workers::WorkItem> Rows::Begin(const RowTask& task, std::shared_ptr<Feed> feed,
                                              const pool::SlotPlace& place, bool aside) {
  InFlight row = {.task = task, .feed = std::move(feed), .aside = aside};
  PENSTOCK_RETURN_IF_ERROR(FindSamples(row));
  const FeedSpec& spec = row.feed->spec;
  workers::WorkItem item;
  item.id = next_item_++;
  item.user = task.user.value();
  item.account = row.feed->account;
  item.dataset = row.feed->dataset->dataset.get();  // kept alive by the row in progress
  item.sample = row.sample;
  item.run = row.run;
  item.spec = SpecFor(*row.feed, row.sample, task);
  item.key = ToDrawKey(spec, {task.epoch, task.index}, row.sample);
  item.segment = place.segment.value();
  item.row_offset = place.offset + task.row * place.layout.blocks.front().row_bytes;
  item.row = place.Row(0, task.row);
  item.stored_image = spec.stored_images;
  item.shelf = row.feed->shelf.get();  // kept alive like the dataset
  item.images = row.feed->images;
  item.more_specs = spec.more_decodings;
  for (size_t image = 1; image <= spec.more_decodings.size(); ++image)
    item.more_offsets.push_back(OffsetOf(place, image, task.row));
  // The images' blocks come first.
  const size_t first = spec.packed ? 0 : 1 + spec.more_decodings.size();
  const size_t end = first + spec.selection.layout.blocks.size();
  if (spec.decoding.canvas != 0) item.size_offset = OffsetOf(place, end, task.row);
  if (end > first) {
    item.selection = &spec.selection;
    for (size_t block = first; block < end; ++block)
      item.field_rows.push_back(place.Row(block, task.row));
  }
  item.aside = aside;
  in_flight_.emplace(item.id, std::move(row));
  if (aside) loose_.Add(task.user.value());
  return item;
}

// Packed rows have no substitutes, like all stored rows.
absl::Status Rows::FindSamples(InFlight& row) {
  const RowTask& task = row.task;
  if (row.feed->spec.packed) {
    row.run.resize(task.rows);
    PlannedFrom(row.feed->spec, {task.epoch, task.index}, row.run);
    row.sample = row.run.front();
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(CheckTries(*row.feed, task));
  const std::optional<uint64_t> sample = SampleFor(*row.feed, task);
  if (!sample)
    return absl::DataLossError(
        absl::StrCat("dataset '", row.feed->called, "': ", kMaxPassedOver,
                     " consecutive substitutes are quarantined; see 'penstockctl "
                     "quarantine list' and repair or clear"));
  row.sample = *sample;
  return absl::OkStatus();
}

std::set<SlotId> Rows::LeftBehind(UserId user, const Core& core) const {
  std::set<SlotId> slots;
  for (const auto& [item, row] : in_flight_)
    if (row.task.user == user && !core.IsWanted(row.task)) slots.insert(row.task.slot);
  return slots;
}

Rows::KeptPlace Rows::PlaceOf(uint64_t item, const pool::Pool& pool) const {
  const InFlight& row = in_flight_.at(item);
  if (row.feed->kept == nullptr) return {};
  return {.slot = &pool.Place(row.task.slot.value()),
          .row = row.task.row,
          .sample = row.sample,
          .shelf = row.feed->kept};
}

void Rows::Overdue(uint64_t item, NoteOverdueRead note) {
  const auto found = in_flight_.find(item);
  if (found == in_flight_.end() || found->second.overdue) return;
  InFlight& row = found->second;
  if (!row.aside) loose_.Add(row.task.user.value());
  note(row.feed, row.sample, {.aside = row.aside, .took = source::kPatience});
  row.overdue = true;
}

FillOutcome Rows::End(const workers::Outcome& outcome, const pool::Pool& pool) {
  const auto found = in_flight_.find(outcome.id);
  PENSTOCK_CHECK(found != in_flight_.end());
  InFlight row = std::move(found->second);
  in_flight_.erase(found);
  if (outcome.kind == workers::OutcomeKind::kRefused ||
      outcome.kind == workers::OutcomeKind::kStrike) {
    if (!row.run.empty()) row.sample = row.run[outcome.row];
    row.path = outcome.path.empty() ? row.feed->dataset->dataset->path(row.sample) : outcome.path;
  }
  if (row.aside || row.overdue) loose_.Remove(row.task.user.value());

  FillOutcome ended;
  switch (outcome.kind) {
    case workers::OutcomeKind::kDone:
      Label(row, pool.Place(row.task.slot.value()));
      if (!row.feed->canary && row.run.empty()) ++decoded_;
      if (const auto policy = row.feed->dataset->policies.find(row.task.user.value());
          policy != row.feed->dataset->policies.end())
        policy->second.OnDecoded(row.sample);
      break;
    case workers::OutcomeKind::kLost:
      ended.end = FillEnd::kLost;
      break;
    case workers::OutcomeKind::kRefused:
      ended = Refused(row, outcome.fault);
      break;
    case workers::OutcomeKind::kStrike:
      ended = Struck(row, outcome.fault);
      break;
    case workers::OutcomeKind::kSourceFailed:
      ended.end = FillEnd::kNotRead;
      ended.why = outcome.status;
      break;
  }
  ended.feed = row.feed;
  ended.task = row.task;
  ended.sample = row.sample;
  ended.cost = outcome.times.taken;
  ended.read = {.aside = row.aside,
                .overdue = row.overdue,
                .took = outcome.times.read_end - outcome.times.read_begin - outcome.times.held_up};
  return ended;
}

// The two ends of the message about too many samples that this feed alone cannot use.
struct Complaint {
  absl::string_view what, remedy;
};

Complaint ComplaintAbout(base::Fault fault) {
  if (fault == base::Fault::kUnfitSize) {
    return {"have no size for the transforms", "pad, or resize before the transforms"};
  }
  if (fault == base::Fault::kTooLong) {
    return {"have too much of a requested field", "request a greater length, or omit the field"};
  }
  if (fault == base::Fault::kMalformed) {
    return {
        "have a requested field that is none",
        "masks are gray or palette PNG files of their images' size, there are as many values as "
        "boxes, and arrays are like the first one; repair them, or omit the field"};
  }
  return {"lack a requested field", "omit the field"};
}

// Counts for this feed alone. Returns why the feed fails, if too many samples are unfit for it.
absl::Status Rows::Lacks(const InFlight& row, base::Fault fault) {
  Feed& feed = *row.feed;
  if (!feed.lacking) feed.lacking.emplace(feed.spec.samples, feed.dataset->policy.options());
  feed.lacking->OnRefused(row.sample);
  if (!feed.lacking->TooMany()) return absl::OkStatus();
  const Complaint complaint = ComplaintAbout(fault);
  return absl::DataLossError(absl::StrCat(
      feed.lacking->bad_samples(), " of the dataset's ", feed.spec.samples, " samples ",
      complaint.what, ", which is too many (max_quarantined); the last one, ",
      Describe(feed, row.sample, row.path, fault), "; ", complaint.remedy));
}

// Fails the feed, like stored data that was damaged.
FillOutcome Rows::RefusedRun(const InFlight& row, base::Fault fault) {
  const bool is_known = base::IsWorkers(fault);  // otherwise any sample of the run may be the cause
  FillOutcome ended;
  ended.end = FillEnd::kNotRead;
  ended.why = absl::DataLossError(
      absl::StrCat(is_known ? "" : absl::StrCat("one of ", row.run.size(), " samples from "), "'",
                   row.path, is_known ? "'" : "' on", ": ", base::FaultName(fault),
                   "; repair the record, or request other features"));
  return ended;
}

// The sample is faulty: another one replaces it in this row, and it is reported once.
FillOutcome Rows::Refused(const InFlight& row, base::Fault fault) {
  if (!row.run.empty()) return RefusedRun(row, fault);
  DatasetState& dataset = *row.feed->dataset;
  FillOutcome ended;
  ended.bad_sample = absl::DataLossError(Describe(*row.feed, row.sample, row.path, fault));
  if (base::IsOfField(fault)) {
    ended.feed_failed = Lacks(row, fault);
  } else {
    Record(row, fault);
    FaultPolicy& policy = dataset.PolicyOf(row.task.user.value());
    policy.OnRefused(row.sample);
    ended.feed_failed = policy.Exhausted();
  }
  if (!row.feed->canary) ++replaced_;
  ended.end = FillEnd::kRefused;
  return ended;
}

// A worker died or hung over the sample: try it once more, then never again.
FillOutcome Rows::Struck(const InFlight& row, base::Fault fault) {
  DatasetState& dataset = *row.feed->dataset;
  FaultPolicy& policy = dataset.PolicyOf(row.task.user.value());
  FillOutcome ended;
  if (policy.OnStrike(row.sample) == Verdict::kQuarantine) {
    if (!row.run.empty()) return RefusedRun(row, fault);
    ended.bad_sample = absl::DataLossError(Describe(*row.feed, row.sample, row.path, fault));
    Record(row, fault);
    ended.feed_failed = policy.Exhausted();
    ended.quarantine_grew = true;
    if (!row.feed->canary) ++replaced_;
    // If the quarantine is full, the sample can't be added to it; skip it only in this row.
    if (!dataset.quarantine.Contains(row.sample, row.task.user.value())) {
      ended.end = FillEnd::kRefused;
      return ended;
    }
  }
  ended.end = FillEnd::kAgain;
  return ended;
}

void Rows::Record(const InFlight& row, base::Fault fault) {
  Record(row.feed->dataset, {.sample = row.sample,
                             .path = row.path,
                             .fault = fault,
                             .attempts = row.task.attempt + 1,
                             .users = {row.task.user.value()}});
}

bool Rows::Record(const std::shared_ptr<DatasetState>& dataset, source::BadSample bad) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  bad.time_unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  bad.stamp = dataset->dataset->stamp(bad.sample);
  if (dataset->quarantine.Add(bad) != source::Quarantine::Added::kNews) return false;
  unsaved_.insert(dataset);
  return true;
}

bool Rows::RecordNotByGpu(const std::shared_ptr<DatasetState>& dataset, uint64_t sample,
                          UserId user) {
  return Record(dataset, {.sample = sample,
                          .path = dataset->dataset->path(sample),
                          .fault = base::Fault::kNotByGpu,
                          .attempts = 1,
                          .users = {user.value()}});
}

// A quarantine that cannot even be queued for writing is retried.
void Rows::SaveQuarantines(base::TimePoint now, bool at_once) {
  if (unsaved_.empty() || (!at_once && now - saved_at_ < kSaveEvery)) return;
  saved_at_ = now;
  std::erase_if(unsaved_, [](const std::shared_ptr<DatasetState>& dataset) {
    const absl::Status saved = dataset->quarantine.Save();
    if (saved.ok()) return true;
    PENSTOCK_LOG(kWarning, "quarantine_not_saved", {"dataset", dataset->name},
                 {"reason", saved.message()});
    return false;
  });
}

void Rows::Label(const InFlight& row, const pool::SlotPlace& place) const {
  const std::span<const uint64_t> samples =
      row.run.empty() ? std::span(&row.sample, 1) : std::span(row.run);
  const uint64_t offset = sizeof(uint64_t) * row.task.row;
  row.feed->dataset->dataset->CopyLabels(samples, place.data + place.layout.labels_offset + offset);
  std::memcpy(place.data + place.layout.ids_offset + offset, samples.data(), samples.size_bytes());
}

}  // namespace penstock::feed
