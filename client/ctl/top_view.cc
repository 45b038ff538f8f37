#include "client/ctl/top_view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/device_views.h"
#include "client/ctl/feeds/names.h"
#include "client/ctl/store_view.h"
#include "client/ctl/table.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

// Differences between two consecutive states, per second.
class Rates {
 public:
  Rates(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before)
      : seconds_(static_cast<double>(now.time_unix_ms() - before.time_unix_ms()) / 1000) {}

  double Of(uint64_t now, uint64_t before) const {
    return seconds_ > 0 ? static_cast<double>(Less(now, before)) / seconds_ : 0;
  }
  std::string Text(double rate) const {
    if (seconds_ <= 0) return "-";
    return rate < 100 ? absl::StrFormat("%.1f", rate) : Count(static_cast<uint64_t>(rate));
  }

 private:
  const double seconds_;
};

std::string Percent(double share) { return absl::StrFormat("%.0f %%", share * 100); }

constexpr char kApart[] = "   ";  // between the parts of the head

std::string Head(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                 const Rates& rates, size_t columns) {
  const v1::GetStatusResponse& status = now.status();
  const double rate = rates.Of(status.samples_decoded(), before.status().samples_decoded());
  const char* const state = status.draining()  ? "draining"
                            : status.serving() ? "serving"
                                               : "NOT SERVING";
  const bool up = status.serving() || status.draining();
  std::string text =
      InLines({absl::StrCat("penstockd ", OneLine(status.version()), ", ", state,
                            up ? "" : absl::StrCat(" (", OneLine(status.reason()), ")"), ", up ",
                            Age(status.uptime_ms())),
               absl::StrCat(rates.Text(rate), " samples/s"),
               absl::StrCat(Count(status.quarantined()), " quarantined")},
              kApart, columns, 2);
  const std::string policy = OneLine(status.workers_policy());
  text += InLines({absl::StrCat("workers ", status.workers_running(), " of ", status.workers(),
                                " running", policy.empty() ? "" : absl::StrCat(" (", policy, ")"),
                                ", ", Count(status.worker_restarts()), " restarts"),
                   absl::StrCat("pool ", base::FormatBytes(status.pool().reserved_bytes()),
                                " reserved of ", base::FormatBytes(status.pool().max_bytes()), ", ",
                                Count(status.pool().slots_held()), " slots held, ",
                                Count(status.pool().slots_cached()), " cached")},
                  kApart, columns, 2);
  if (status.has_python()) {
    const v1::PythonMakersStatus& python = status.python();
    text += InLines(
        {absl::StrCat("python ", Count(python.workers()), " workers of ", Count(python.hosts()),
                      " hosts, ", Percent(python.workers_busy()), " busy"),
         absl::StrCat(rates.Text(rates.Of(python.batches(), before.status().python().batches())),
                      " batches/s"),
         absl::StrCat(Count(python.raised()), " raised, ", Count(python.deaths()), " deaths"),
         absl::StrCat(base::FormatBytes(python.granted_bytes()), " of batches")},
        kApart, columns, 2);
  }
  if (status.has_stores()) {
    const std::vector<std::string> words =
        absl::StrSplit(absl::StrCat("stores ", StoreLine(status.stores())), ' ');
    text += InLines(words, " ", columns, 2);
  }
  return text;
}

std::string Feeds(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                  const Rates& rates, size_t columns) {
  std::map<uint64_t, uint64_t> samples;
  for (const v1::FeedStatus& feed : before.status().feeds())
    samples[feed.fingerprint()] = feed.samples_decoded();
  Table table({{"FEED"},
               {"DATASET"},
               {"USER"},
               {"SESSIONS", kRight, 3},
               {"SAMPLES/S", kRight},
               {"READY", kRight, 2},
               {"STARVED", kRight, 1}});
  for (const v1::FeedStatus& feed : now.status().feeds()) {
    const auto known = samples.find(feed.fingerprint());
    const uint64_t then = known == samples.end() ? 0 : known->second;
    table.Add({Hexadecimal(feed.fingerprint()), feed.dataset(), UserName(feed.user_id()),
               Count(feed.sessions()), rates.Text(rates.Of(feed.samples_decoded(), then)),
               Percent(feed.occupancy()), Percent(feed.starved())});
  }
  return table.Text(columns) + VerdictLines(now.status(), columns);
}

struct Row {
  const v1::SessionStatus* session;
  double batches_per_second;
};

std::vector<Row> ToRows(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                        const Rates& rates, TopOrder order) {
  std::map<uint64_t, uint64_t> taken;
  for (const v1::SessionStatus& session : before.sessions())
    taken[session.session_id()] = session.taken();
  std::vector<Row> rows;
  for (const v1::SessionStatus& session : now.sessions()) {
    const auto known = taken.find(session.session_id());
    rows.push_back({&session, known == taken.end() ? 0 : rates.Of(session.taken(), known->second)});
  }
  std::stable_sort(rows.begin(), rows.end(), [order](const Row& a, const Row& b) {
    if (order == TopOrder::kByRate) return a.batches_per_second > b.batches_per_second;
    if (order == TopOrder::kByUser) return a.session->user_id() < b.session->user_id();
    return a.session->session_id() < b.session->session_id();
  });
  return rows;
}

// Briefly; `penstockctl sessions` has the GPU and the handle.
std::string BriefDelivery(const v1::SessionStatus& session) {
  if (session.delivery() == v1::DELIVERY_DEVICE)
    return absl::StrCat("device ", session.on_device(), "/", session.device_depth());
  return session.delivery() == v1::DELIVERY_PINNED ? "pinned" : "host";
}

std::string Sessions(const std::vector<Row>& rows, const Rates& rates, size_t columns) {
  Table table({{"ID", kRight},
               {"NAME", kLeft, 4},
               {"DATASET"},
               {"USER", kLeft},
               {"PID", kRight, 5},
               {"RANK", kRight, 2},
               {"EPOCH", kRight, 3},
               {"BATCHES/S", kRight},
               {"READY", kRight},
               {"DELIVERY", kLeft, 1},
               {"STATE"}});
  for (const Row& row : rows) {
    const v1::SessionStatus& session = *row.session;
    table.Add({absl::StrCat(session.session_id()), OneLine(session.name()),
               OneLine(session.dataset()), UserName(session.user_id()),
               session.pid() == 0 ? "" : absl::StrCat(session.pid()),
               absl::StrCat(session.rank(), "/", session.world_size()), Count(session.epoch()),
               rates.Text(row.batches_per_second),
               absl::StrCat(Less(session.announced(), session.taken()), "/", session.window()),
               BriefDelivery(session), OneLine(session.state())});
  }
  return table.Text(columns);
}

std::string Workers(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                    const Rates& rates, size_t columns) {
  std::map<uint32_t, uint64_t> decoded;
  for (const v1::WorkerStatus& worker : before.workers())
    decoded[worker.index()] = worker.samples_decoded();
  Table table({{"WORKER", kRight},
               {"PID", kRight, 1},
               {"USER"},
               {"SAMPLES/S", kRight},
               {"STATE"},
               {"READING"}});
  for (const v1::WorkerStatus& worker : now.workers())
    table.Add({absl::StrCat(worker.index()), worker.pid() == 0 ? "" : absl::StrCat(worker.pid()),
               worker.has_user_id() ? UserName(worker.user_id()) : "",
               rates.Text(rates.Of(worker.samples_decoded(), decoded[worker.index()])),
               OneLine(worker.state()), OneLine(worker.reading())});
  return table.Text(columns);
}

std::string PythonWorkers(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                          const Rates& rates, size_t columns) {
  std::map<std::pair<int32_t, uint32_t>, uint64_t> made;
  for (const v1::PythonWorkerStatus& worker : before.python_workers())
    made[{worker.host_pid(), worker.place()}] = worker.batches();
  Table table({{"PYTHON WORKER", kRight},
               {"PID", kRight, 2},
               {"BATCHES/S", kRight},
               {"BUSY FOR", kRight, 1},
               {"STATE"},
               {"DATASET"}});
  for (const v1::PythonWorkerStatus& worker : now.python_workers())
    table.Add({absl::StrCat(worker.place()), worker.pid() == 0 ? "" : absl::StrCat(worker.pid()),
               rates.Text(rates.Of(worker.batches(), made[{worker.host_pid(), worker.place()}])),
               worker.in_hand_ms() == 0 ? "" : Age(worker.in_hand_ms()), OneLine(worker.state()),
               OneLine(worker.dataset())});
  return table.Text(columns);
}

}  // namespace

TopOrder Next(TopOrder order) {
  switch (order) {
    case TopOrder::kById:
      return TopOrder::kByRate;
    case TopOrder::kByRate:
      return TopOrder::kByUser;
    case TopOrder::kByUser:
      break;
  }
  return TopOrder::kById;
}

std::string FitToScreen(const std::string& text, const TopScreen& screen) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (screen.rows > 0 && lines.size() > screen.rows) {
    lines.resize(screen.rows);
    lines.back() = "…";
  }
  std::string fitted;
  for (const std::string& line : lines) {
    absl::StrAppend(&fitted, screen.columns > 0 ? CutTo(line, screen.columns) : line, "\n");
  }
  return fitted;
}

std::string ShowTop(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                    const TopScreen& screen) {
  const Rates rates(now, before);
  const size_t columns = screen.columns;
  std::string text = Head(now, before, rates, columns);
  if (screen.keys) text += "keys: q quits, s changes the order of sessions\n";
  if (now.status().gpus_size() > 0) absl::StrAppend(&text, "\n", GpusTable(now.status(), columns));
  if (now.status().feeds_size() > 0)
    absl::StrAppend(&text, "\n", Feeds(now, before, rates, columns));
  if (now.sessions_size() > 0)
    absl::StrAppend(&text, "\n",
                    Sessions(ToRows(now, before, rates, screen.order), rates, columns));
  if (now.python_workers_size() > 0)
    absl::StrAppend(&text, "\n", PythonWorkers(now, before, rates, columns));
  absl::StrAppend(&text, "\n", Workers(now, before, rates, columns));
  return FitToScreen(text, screen);
}

}  // namespace penstock::ctl
