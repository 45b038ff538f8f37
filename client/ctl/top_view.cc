#include "client/ctl/top_view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/device_views.h"
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

std::string Head(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                 const Rates& rates) {
  const v1::GetStatusResponse& status = now.status();
  const double rate = rates.Of(status.samples_decoded(), before.status().samples_decoded());
  const char* const state = status.draining()  ? "draining"
                            : status.serving() ? "serving"
                                               : "NOT SERVING";
  std::string text = absl::StrCat("penstockd ", OneLine(status.version()), ", ", state,
                                  status.serving() || status.draining()
                                      ? ""
                                      : absl::StrCat(" (", OneLine(status.reason()), ")"),
                                  ", up ", Age(status.uptime_ms()), "   ", rates.Text(rate),
                                  " samples/s   ", Count(status.quarantined()), " quarantined\n");
  absl::StrAppend(
      &text, "workers ", status.workers_running(), " of ", status.workers(), " running",
      status.workers_policy().empty() ? ""
                                      : absl::StrCat(" (", OneLine(status.workers_policy()), ")"),
      ", ", Count(status.worker_restarts()), " restarts   pool ",
      base::FormatBytes(status.pool().reserved_bytes()), " reserved of ",
      base::FormatBytes(status.pool().max_bytes()), ", ", Count(status.pool().slots_held()),
      " slots held, ", Count(status.pool().slots_cached()), " cached\n");
  if (status.has_python()) {
    const v1::PythonMakersStatus& python = status.python();
    absl::StrAppend(&text, "python ", Count(python.workers()), " workers of ",
                    Count(python.hosts()), " hosts, ", Percent(python.workers_busy()), " busy   ",
                    rates.Text(rates.Of(python.batches(), before.status().python().batches())),
                    " batches/s   ", Count(python.raised()), " raised, ", Count(python.deaths()),
                    " deaths   ", base::FormatBytes(python.granted_bytes()), " of batches\n");
  }
  if (status.has_stores()) absl::StrAppend(&text, "stores ", StoreLine(status.stores()), "\n");
  return text;
}

std::string Feeds(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                  const Rates& rates) {
  std::map<uint64_t, uint64_t> samples;
  for (const v1::FeedStatus& feed : before.status().feeds())
    samples[feed.fingerprint()] = feed.samples_decoded();
  Table table({{"FEED"},
               {"DATASET"},
               {"SESSIONS", kRight},
               {"SAMPLES/S", kRight},
               {"READY", kRight},
               {"STARVED", kRight},
               {"WHO WAITS FOR WHOM"}});
  for (const v1::FeedStatus& feed : now.status().feeds()) {
    const auto known = samples.find(feed.fingerprint());
    const uint64_t then = known == samples.end() ? 0 : known->second;
    table.Add({absl::StrFormat("%08x", feed.fingerprint() >> 32), OneLine(feed.dataset()),
               Count(feed.sessions()), rates.Text(rates.Of(feed.samples_decoded(), then)),
               Percent(feed.occupancy()), Percent(feed.starved()), OneLine(feed.verdict())});
  }
  return table.Text();
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

std::string Sessions(const std::vector<Row>& rows, const Rates& rates) {
  Table table({{"SESSION", kRight},
               {"NAME"},
               {"DATASET"},
               {"USER", kRight},
               {"PID", kRight},
               {"RANK", kRight},
               {"EPOCH", kRight},
               {"BATCHES/S", kRight},
               {"READY", kRight},
               {"DELIVERY"},
               {"STATE"}});
  for (const Row& row : rows) {
    const v1::SessionStatus& session = *row.session;
    table.Add({absl::StrCat(session.session_id()), OneLine(session.name()),
               OneLine(session.dataset()), absl::StrCat(session.user_id()),
               session.pid() == 0 ? "" : absl::StrCat(session.pid()),
               absl::StrCat(session.rank(), "/", session.world_size()), Count(session.epoch()),
               rates.Text(row.batches_per_second),
               absl::StrCat(Less(session.announced(), session.taken()), "/", session.window()),
               DeliveryWords(session), OneLine(session.state())});
  }
  return table.Text();
}

std::string Workers(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                    const Rates& rates) {
  std::map<uint32_t, uint64_t> decoded;
  for (const v1::WorkerStatus& worker : before.workers())
    decoded[worker.index()] = worker.samples_decoded();
  Table table({{"WORKER", kRight},
               {"PID", kRight},
               {"USER", kRight},
               {"SAMPLES/S", kRight},
               {"STATE"},
               {"READING"}});
  for (const v1::WorkerStatus& worker : now.workers())
    table.Add({absl::StrCat(worker.index()), worker.pid() == 0 ? "" : absl::StrCat(worker.pid()),
               worker.has_user_id() ? absl::StrCat(worker.user_id()) : "",
               rates.Text(rates.Of(worker.samples_decoded(), decoded[worker.index()])),
               OneLine(worker.state()), OneLine(worker.reading())});
  return table.Text();
}

std::string PythonWorkers(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                          const Rates& rates) {
  std::map<std::pair<int32_t, uint32_t>, uint64_t> made;
  for (const v1::PythonWorkerStatus& worker : before.python_workers())
    made[{worker.host_pid(), worker.place()}] = worker.batches();
  Table table({{"PYTHON WORKER", kRight},
               {"PID", kRight},
               {"BATCHES/S", kRight},
               {"BUSY FOR", kRight},
               {"STATE"},
               {"DATASET"}});
  for (const v1::PythonWorkerStatus& worker : now.python_workers())
    table.Add({absl::StrCat(worker.place()), worker.pid() == 0 ? "" : absl::StrCat(worker.pid()),
               rates.Text(rates.Of(worker.batches(), made[{worker.host_pid(), worker.place()}])),
               worker.in_hand_ms() == 0 ? "" : Age(worker.in_hand_ms()), OneLine(worker.state()),
               OneLine(worker.dataset())});
  return table.Text();
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
  for (std::string& line : lines) {
    if (screen.columns > 0 && line.size() > screen.columns) line.resize(screen.columns);
    absl::StrAppend(&fitted, line, "\n");
  }
  return fitted;
}

std::string ShowTop(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                    const TopScreen& screen) {
  const Rates rates(now, before);
  std::string text = Head(now, before, rates);
  if (screen.keys) text += "keys: q quits, s changes the order of sessions\n";
  if (now.status().gpus_size() > 0) absl::StrAppend(&text, "\n", GpusTable(now.status()));
  if (now.status().feeds_size() > 0) absl::StrAppend(&text, "\n", Feeds(now, before, rates));
  if (now.sessions_size() > 0)
    absl::StrAppend(&text, "\n", Sessions(ToRows(now, before, rates, screen.order), rates));
  if (now.python_workers_size() > 0)
    absl::StrAppend(&text, "\n", PythonWorkers(now, before, rates));
  absl::StrAppend(&text, "\n", Workers(now, before, rates));
  return FitToScreen(text, screen);
}

}  // namespace penstock::ctl
