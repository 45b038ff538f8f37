#include "server/feed/stats/trace_text.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/check.h"

namespace penstock::feed {
namespace {

// Process numbers in the viewers.
constexpr uint64_t kWorkers = 1'000, kRowCopiers = 10'000, kFeeds = 20'000, kSessions = 100'000;
// More than the longest text of one event; names are truncated.
constexpr size_t kLongestStep = 16 << 10;
constexpr size_t kLongestName = 200;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongestName)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 ||
               byte >= 0x7F) {  // and no partial character where a name was truncated
      absl::StrAppendFormat(&quoted, "\\u%04x", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string IdOf(const SlotFill& fill) { return absl::StrCat(fill.slot, ".", fill.generation); }

std::pair<uint32_t, uint64_t> KeyOf(const SlotFill& fill) { return {fill.slot, fill.generation}; }

base::TimePoint Middle(base::TimePoint a, base::TimePoint b) { return a + (b - a) / 2; }

struct Stay {
  uint64_t group = 0;
  base::TimePoint begin, end;
};

// For each event, the lowest lane of its group that is free at that time.
std::vector<uint32_t> LanesOf(size_t count, const std::function<Stay(size_t)>& stay_of) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Stay> stays(count);
  for (size_t i = 0; i < count; ++i) stays[i] = stay_of(i);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return stays[a].begin < stays[b].begin; });
  std::vector<uint32_t> lanes(count);
  std::map<uint64_t, std::vector<base::TimePoint>> groups;
  for (const size_t i : order) {
    std::vector<base::TimePoint>& free_at = groups[stays[i].group];
    const auto free = std::find_if(free_at.begin(), free_at.end(),
                                   [&](base::TimePoint at) { return at <= stays[i].begin; });
    lanes[i] = static_cast<uint32_t>(free - free_at.begin());
    if (free == free_at.end()) {
      free_at.push_back(stays[i].end);
    } else {
      *free = stays[i].end;
    }
  }
  return lanes;
}

bool Happened(base::TimePoint at) { return at != base::TimePoint(); }

}  // namespace

struct TraceText::Slice {
  const char* name;
  base::TimePoint begin, end;
};

TraceText::TraceText(Trace trace) : trace_(std::move(trace)), origin_(trace_.begun) {
  for (const TraceRows& rows : trace_.rows) origin_ = std::min(origin_, rows.given);
  for (const TraceFill& fill : trace_.fills) origin_ = std::min(origin_, fill.begun);
  for (const TraceBatch& each : trace_.batches) origin_ = std::min(origin_, each.batch.full);
  for (const auto& [feed, name] : trace_.feeds)
    feed_groups_.emplace(feed, kFeeds + feed_groups_.size());

  std::set<uint32_t> workers;
  for (const TraceRows& rows : trace_.rows)
    if (!rows.carried) workers.insert(rows.worker);
  for (const uint32_t worker : workers)
    names_.emplace_back(kWorkers + worker, absl::StrCat("worker ", worker));
  for (const auto& [feed, name] : trace_.feeds)
    names_.emplace_back(feed_groups_.at(feed), absl::StrCat("slots of ", name));
  for (const auto& [session, name] : trace_.sessions)
    names_.emplace_back(kSessions + session, absl::StrCat("session ", session, " ", name));
  for (const auto& [session, context] : trace_.contexts)
    labels_.emplace_back(kSessions + session, context);

  row_lanes_ = LanesOf(trace_.rows.size(), [this](size_t i) {
    const TraceRows& rows = trace_.rows[i];
    return Stay{TrackOf(rows, 0).group, rows.given, rows.ended};
  });
  batch_lanes_ = LanesOf(trace_.batches.size(), [this](size_t i) {
    const SessionFlow::BatchTimes& batch = trace_.batches[i].batch;
    return Stay{trace_.batches[i].session, batch.full,
                Happened(batch.released) ? batch.released : trace_.ended};
  });
  for (size_t i = 0; i < trace_.rows.size(); ++i) {
    const TraceRows& rows = trace_.rows[i];
    const auto [last, first_of_it] = last_rows_.emplace(KeyOf(rows.fill), i);
    if (!first_of_it && trace_.rows[last->second].ended < rows.ended) last->second = i;
  }
  for (size_t i = 0; i < trace_.fills.size(); ++i) fills_.emplace(KeyOf(trace_.fills[i].fill), i);
}

std::string TraceText::Next(size_t most) {
  PENSTOCK_CHECK(most >= 4 * kLongestStep);
  std::string text;
  while (text.size() + kLongestStep <= most && Step(text)) {
  }
  return text;
}

// Writes one event and its parts. False at the end.
bool TraceText::Step(std::string& text) {
  if (ended_) return false;
  size_t at = at_++;
  if (at == 0) {
    text += "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    text += R"({"ph":"M","name":"process_name","pid":10000,"args":{"name":"row copiers"}})";
    return true;
  }
  --at;
  const auto past = [&at](size_t size) {
    if (at < size) return false;
    at -= size;
    return true;
  };
  if (!past(names_.size())) {
    Name(names_[at].first, names_[at].second, text);
  } else if (!past(labels_.size())) {
    absl::StrAppendFormat(
        &text, ",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"args\":{\"labels\":%s}}",
        labels_[at].first, Quoted(labels_[at].second));
  } else if (!past(trace_.rows.size())) {
    Write(trace_.rows[at], row_lanes_[at], text);
  } else if (!past(trace_.fills.size())) {
    Write(trace_.fills[at], text);
  } else if (!past(trace_.batches.size())) {
    Write(trace_.batches[at], batch_lanes_[at], text);
  } else {
    absl::StrAppendFormat(&text, "\n],\"otherData\":{\"dropped\":%d}}\n", trace_.dropped);
    ended_ = true;
  }
  return true;
}

void TraceText::Write(const TraceRows& rows, uint64_t lane, std::string& text) const {
  const Track at = TrackOf(rows, lane);
  const auto feed = trace_.feeds.find(rows.feed);
  const std::string what = rows.carried ? absl::StrCat("\"rows\":", rows.rows)
                                        : absl::StrCat("\"sample\":", rows.sample);
  const std::string arguments =
      absl::StrCat(what, ",\"batch\":\"", IdOf(rows.fill),
                   "\",\"feed\":", Quoted(feed == trace_.feeds.end() ? "" : feed->second),
                   rows.done ? "" : ",\"done\":false");
  Add({rows.carried ? "rows" : "sample", rows.given, rows.ended}, at, arguments, text);
  Add({"queue", rows.given, rows.read_begin}, at, "", text);
  Add({"read", rows.read_begin, rows.read_end}, at, what, text);
  if (rows.carried) return;
  Add({"queue", rows.read_end, rows.decode_begin}, at, "", text);
  Add({"decode", rows.decode_begin, rows.ended}, at, what, text);
}

void TraceText::Write(const TraceFill& fill, std::string& text) const {
  Add({"fill", fill.begun, fill.ended}, TrackOf(fill),
      absl::StrCat("\"batch\":\"", IdOf(fill.fill), "\",\"epoch\":", fill.epoch,
                   ",\"first\":", fill.first),
      text);
}

void TraceText::Write(const TraceBatch& each, uint64_t lane, std::string& text) const {
  const SessionFlow::BatchTimes& batch = each.batch;
  const Track at = {kSessions + each.session, lane};
  const auto until = [this](base::TimePoint then) { return Happened(then) ? then : trace_.ended; };
  const std::string arguments = absl::StrCat(
      "\"batch\":\"", IdOf(batch.fill), "\",\"session\":", each.session,
      ",\"sequence\":", batch.sequence, ",\"epoch\":", batch.epoch, ",\"step\":", batch.step);
  Add({"batch", batch.full, until(batch.released)}, at, arguments, text);
  if (each.device) Add({"copy", batch.full, until(batch.ready)}, at, "", text);
  if (Happened(batch.ready)) Add({"ready", batch.ready, until(batch.taken)}, at, "", text);
  if (Happened(batch.taken)) Add({"held", batch.taken, until(batch.released)}, at, "", text);
  if (Happened(batch.taken)) WriteArrows(each, at, text);
}

// Starts at the sample that the batch waited for last.
void TraceText::WriteArrows(const TraceBatch& each, const Track& at, std::string& text) const {
  const SessionFlow::BatchTimes& batch = each.batch;
  const auto last = last_rows_.find(KeyOf(batch.fill));
  const auto filled = fills_.find(KeyOf(batch.fill));
  if (last == last_rows_.end() || filled == fills_.end()) return;
  const TraceRows& rows = trace_.rows[last->second];
  const TraceFill& fill = trace_.fills[filled->second];
  const std::string id = absl::StrCat(IdOf(batch.fill), "/", each.session);
  Arrow('s', id, TrackOf(rows, row_lanes_[last->second]),
        Middle(rows.carried ? rows.read_begin : rows.decode_begin, rows.ended), text);
  Arrow('t', id, TrackOf(fill), fill.ended, text);
  if (each.device) Arrow('t', id, at, Middle(batch.full, batch.ready), text);
  Arrow('t', id, at, Middle(batch.ready, batch.taken), text);
  const base::TimePoint released = Happened(batch.released) ? batch.released : trace_.ended;
  Arrow('f', id, at, Middle(batch.taken, released), text);
}

// ---- Pieces ----

void TraceText::Name(uint64_t group, const std::string& name, std::string& text) const {
  absl::StrAppendFormat(&text, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,", group);
  absl::StrAppend(&text, "\"args\":{\"name\":", Quoted(name), "}}");
}

void TraceText::Add(const Slice& slice, const Track& at, const std::string& arguments,
                    std::string& text) const {
  const double begin = Microseconds(slice.begin);
  absl::StrAppendFormat(
      &text, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
      slice.name, at.group, at.lane, begin, std::max(0.0, Microseconds(slice.end) - begin));
  if (!arguments.empty()) absl::StrAppend(&text, ",\"args\":{", arguments, "}");
  text += '}';
}

void TraceText::Arrow(char phase, const std::string& id, const Track& at, base::TimePoint when,
                      std::string& text) const {
  absl::StrAppendFormat(&text,
                        ",\n{\"ph\":\"%c\",\"name\":\"batch\",\"cat\":\"batch\",\"id\":\"%s\","
                        "\"bp\":\"e\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f}",
                        phase, id, at.group, at.lane, Microseconds(when));
}

double TraceText::Microseconds(base::TimePoint when) const {
  return static_cast<double>((when - origin_).count()) / 1000;
}

TraceText::Track TraceText::TrackOf(const TraceRows& rows, uint64_t lane) const {
  return {rows.carried ? kRowCopiers : kWorkers + rows.worker, lane};
}

TraceText::Track TraceText::TrackOf(const TraceFill& fill) const {
  const auto group = feed_groups_.find(fill.feed);
  return {group == feed_groups_.end() ? kFeeds : group->second, fill.fill.slot};
}

}  // namespace penstock::feed
