#include "client/ctl/views.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/ctl/device_views.h"
#include "client/ctl/feeds/names.h"
#include "client/ctl/store_view.h"
#include "client/ctl/table.h"
#include "common/base/check.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

std::string Plural(uint64_t count, absl::string_view noun) {
  return absl::StrCat(Count(count), " ", noun, count == 1 ? "" : "s");
}

std::string PoolLine(const v1::PoolStatus& pool) {
  const uint32_t used = pool.slots_held() + pool.slots_cached();
  const uint32_t free = pool.slots() > used ? pool.slots() - used : 0;
  return absl::StrCat(
      base::FormatBytes(pool.segment_bytes()), " of ", base::FormatBytes(pool.max_bytes()), " in ",
      Plural(pool.segments(), "segment"), "; ", base::FormatBytes(pool.reserved_bytes()),
      " reserved; ", Plural(pool.slots(), "slot"), ": ", Count(pool.slots_held()), " held, ",
      Count(pool.slots_cached()), " cached, ", Count(free), " free");
}

std::string FeedsTable(const v1::GetStatusResponse& status) {
  Table table({{"FEED"},
               {"DATASET"},
               {"USER"},
               {"SESSIONS", kRight},
               {"BATCHES", kRight},
               {"DELIVERED", kRight},
               {"READERS", kRight},
               {"SAMPLES", kRight},
               {"REPLACED", kRight}});
  for (const v1::FeedStatus& feed : status.feeds()) {
    const double each = feed.batches_decoded() == 0
                            ? 0
                            : static_cast<double>(feed.batches_announced()) /
                                  static_cast<double>(feed.batches_decoded());
    table.Add({Hexadecimal(feed.fingerprint()), feed.dataset(), UserName(feed.user_id()),
               Count(feed.sessions()), Count(feed.batches_decoded()),
               Count(feed.batches_announced()), absl::StrFormat("%.1f", each),
               Count(feed.samples_decoded()), Count(feed.samples_replaced())});
  }
  return table.Text();
}

// Resource usage of each user.
std::string UsersTable(const v1::GetStatusResponse& status) {
  Table table({{"USER"},
               {"SESSIONS", kRight},
               {"POOL", kRight},
               {"POOL RESERVED", kRight},
               {"WORKERS", kRight},
               {"BATCHES", kRight},
               {"SAMPLES", kRight},
               {"WORKER CPU", kRight}});
  for (const v1::UserStatus& user : status.users())
    table.Add({user.others() ? "(others)" : UserName(user.user_id()), Count(user.sessions()),
               base::FormatBytes(user.pool_bytes()), base::FormatBytes(user.pool_reserved_bytes()),
               Count(user.workers()), Count(user.batches_announced()),
               Count(user.samples_decoded()),
               absl::StrFormat("%.1f s", user.worker_cpu_seconds())});
  return table.Text();
}

// An older daemon says nothing about it.
std::string SandboxLines(const v1::GetStatusResponse& status) {
  std::string text;
  if (!status.sandbox().empty())
    absl::StrAppend(
        &text, "  sandbox   ", OneLine(status.sandbox()),
        status.sandbox() == "off" ? ": decoders and parsers have the daemon's rights" : "", "\n");
  if (status.forbidden_calls() > 0)
    absl::StrAppend(&text, "  WARNING   the sandbox killed ",
                    status.forbidden_calls() == 1
                        ? "1 process"
                        : absl::StrCat(status.forbidden_calls(), " processes"),
                    " over files that made them call something forbidden; see the log\n");
  return text;
}

std::string ActionOn(const v1::QuarantineEntry& entry) {
  if (entry.decoded_by_workers()) return "decoded by workers";
  return entry.quarantined() ? "quarantined" : "replaced";
}

}  // namespace

std::string Show(const v1::GetStatusResponse& status) {
  std::string text = absl::StrCat(
      "penstockd ", OneLine(status.version()), " (protocol ", status.protocol_version(), ", pid ",
      status.pid(), status.private_daemon() ? ", private" : "", ") is ",
      status.serving() ? "serving" : "NOT SERVING",
      status.reason().empty() ? "" : absl::StrCat(": ", OneLine(status.reason())), "\n");
  if (!status.state_directory().empty())
    absl::StrAppend(&text, "  WARNING   ", OneLine(status.state_directory()), "\n");
  absl::StrAppend(&text, "  up        ", Age(status.uptime_ms()), "\n");
  absl::StrAppend(&text, "  delivers  to ", absl::StrJoin(status.deliveries(), ", "), "\n");
  absl::StrAppend(&text, "  workers   ", Count(status.workers_running()), " of ",
                  Count(status.workers()), " running, ",
                  status.workers_asleep() > 0
                      ? absl::StrCat(Count(status.workers_asleep()), " more asleep, ")
                      : "",
                  Plural(status.worker_restarts(), "restart"), "\n");
  if (status.has_python())
    absl::StrAppend(&text, "  python    ", Plural(status.python().workers(), "worker"), " of ",
                    Plural(status.python().hosts(), "host"), ", ",
                    absl::StrFormat("%.0f %%", 100 * status.python().workers_busy()), " busy; ",
                    Count(status.python().batches()), " batches made, ",
                    Count(status.python().raised()), " raised, ",
                    Plural(status.python().deaths(), "worker"), " ended\n");
  absl::StrAppend(&text, SandboxLines(status));
  absl::StrAppend(&text, "  sessions  ", Count(status.sessions()), "\n");
  if (status.connections_cut_off() > 0)
    absl::StrAppend(&text, "  cut off   ", Plural(status.connections_cut_off(), "connection"),
                    " because of what they sent or did not read\n");
  absl::StrAppend(&text, "  pool      ", PoolLine(status.pool()), "\n");
  if (status.has_stores()) absl::StrAppend(&text, "  stores    ", StoreLine(status.stores()), "\n");
  absl::StrAppend(&text, "  samples   ", Count(status.samples_decoded()), " decoded, ",
                  Count(status.quarantined()), " quarantined\n");
  if (status.gpus_size() > 0) absl::StrAppend(&text, "\n", GpusTable(status));
  if (status.feeds_size() > 0) absl::StrAppend(&text, "\n", FeedsTable(status));
  if (status.users_size() > 0) absl::StrAppend(&text, "\n", UsersTable(status));
  if (const std::string verdicts = VerdictLines(status, 0); !verdicts.empty())
    absl::StrAppend(&text, "\n", verdicts);
  return text;
}

std::string Show(const v1::ListSessionsResponse& sessions) {
  if (sessions.sessions_size() == 0) return "no session is open\n";
  Table table({{"ID", kRight},
               {"NAME"},
               {"DATASET"},
               {"USER"},
               {"PID", kRight},
               {"RANK", kRight},
               {"BATCH", kRight},
               {"WINDOW", kRight},
               {"EPOCH", kRight},
               {"CONSUMED", kRight},
               {"READY", kRight},
               {"HELD", kRight},
               {"DELIVERY"},
               {"ORDER"},
               {"STATE"},
               {"DELIVERY REASON"}});
  for (const v1::SessionStatus& session : sessions.sessions()) {
    table.Add({absl::StrCat(session.session_id()), session.name(), session.dataset(),
               UserName(session.user_id()), session.pid() == 0 ? "" : absl::StrCat(session.pid()),
               absl::StrCat(session.rank(), "/", session.world_size()), Count(session.batch_size()),
               Count(session.window()), Count(session.epoch()), Count(session.consumed()),
               Count(Less(session.announced(), session.taken())),
               Count(Less(session.taken(), session.released())), DeliveryWords(session),
               session.order(), session.state(), session.delivery_reason()});
  }
  return table.Text();
}

std::string ShowPython(const v1::ListWorkersResponse& workers) {
  Table table({{"PYTHON WORKER", kRight},
               {"PID", kRight},
               {"HOST", kRight},
               {"BATCHES", kRight},
               {"RESTARTS", kRight},
               {"MEMORY", kRight},
               {"BUSY FOR", kRight},
               {"STATE"},
               {"DATASET"},
               {"LAST END"}});
  for (const v1::PythonWorkerStatus& worker : workers.python_workers()) {
    table.Add({absl::StrCat(worker.place()), worker.pid() == 0 ? "" : absl::StrCat(worker.pid()),
               worker.host_pid() == 0 ? "" : absl::StrCat(worker.host_pid()),
               Count(worker.batches()), Count(worker.restarts()),
               worker.resident_bytes() == 0 ? "" : base::FormatBytes(worker.resident_bytes()),
               worker.in_hand_ms() == 0 ? "" : Age(worker.in_hand_ms()), worker.state(),
               worker.dataset(), worker.last_end()});
  }
  return table.Text();
}

std::string Show(const v1::ListWorkersResponse& workers) {
  const bool python = workers.python_workers_size() > 0;
  if (workers.workers_size() == 0) return python ? ShowPython(workers) : "no worker is running\n";
  Table table({{"WORKER", kRight},
               {"PID", kRight},
               {"USER", kRight},
               {"SAMPLES", kRight},
               {"RESTARTS", kRight},
               {"BUSY FOR", kRight},
               {"STATE"},
               {"READING"}});
  for (const v1::WorkerStatus& worker : workers.workers()) {
    table.Add({absl::StrCat(worker.index()), worker.pid() == 0 ? "" : absl::StrCat(worker.pid()),
               worker.has_user_id() ? UserName(worker.user_id()) : "",
               Count(worker.samples_decoded()), Count(worker.restarts()),
               worker.in_hand_ms() == 0 ? "" : Age(worker.in_hand_ms()), worker.state(),
               worker.reading()});
  }
  return python ? absl::StrCat(table.Text(), "\n", ShowPython(workers)) : table.Text();
}

std::string Show(const v1::ListDatasetsResponse& datasets) {
  if (datasets.datasets_size() == 0) return "no dataset is configured or open\n";
  Table table({{"DATASET"},
               {"KIND"},
               {"SAMPLES", kRight},
               {"CLASSES", kRight},
               {"QUARANTINED", kRight},
               {"DIGEST"},
               {"PATH"}});
  for (const v1::DatasetStatus& dataset : datasets.datasets()) {
    const bool indexed = dataset.indexed();
    table.Add({dataset.name(), dataset.kind(), indexed ? Count(dataset.samples()) : "not indexed",
               indexed ? Count(dataset.classes()) : "", indexed ? Count(dataset.quarantined()) : "",
               indexed ? Hexadecimal(dataset.digest()) : "", dataset.path()});
  }
  return table.Text();
}

std::string Show(const v1::ListQuarantineResponse& quarantine) {
  std::string unknown;
  if (quarantine.not_open_total() > 0) {
    const bool are_all = quarantine.not_open_total() == uint64_t(quarantine.not_open_size());
    unknown = absl::StrCat("bad samples are unknown of datasets that are not open: ",
                           OneLine(absl::StrJoin(quarantine.not_open(), ", ")),
                           are_all ? "" : ", …", "\n");
  }
  if (quarantine.entries_size() == 0) return absl::StrCat("there are no bad samples\n", unknown);
  Table table({{"DATASET"}, {"SAMPLE", kRight}, {"REASON"}, {"ACTION"}, {"SINCE"}, {"PATH"}});
  for (const v1::QuarantineEntry& entry : quarantine.entries()) {
    table.Add({entry.dataset(), absl::StrCat(entry.sample()), entry.reason(), ActionOn(entry),
               absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMillis(entry.time_unix_ms()),
                                absl::LocalTimeZone()),
               entry.path()});
  }
  return table.Text() + unknown;
}

std::string Show(const v1::ClearQuarantineResponse& cleared) {
  return absl::StrCat("cleared ", Plural(cleared.cleared(), "sample"),
                      "; sessions opened from now on try them again (quarantine version ",
                      cleared.version(), ")\n");
}

namespace {

// Protobuf prints 64-bit numbers as decimal text; hashes are hexadecimal everywhere else. In JSON,
// a quote within a text is escaped, so that no text is taken for a field.
std::string WithHexadecimalHashes(std::string json) {
  for (const std::string field : {"\"fingerprint\": \"", "\"digest\": \""}) {
    for (size_t at = json.find(field); at != std::string::npos; at = json.find(field, at)) {
      at += field.size();
      const size_t end = json.find('"', at);
      uint64_t hash = 0;
      PENSTOCK_CHECK(absl::SimpleAtoi(json.substr(at, end - at), &hash));
      json.replace(at, end - at, Hexadecimal(hash));
    }
  }
  return json;
}

}  // namespace

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  PENSTOCK_CHECK(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  if (text.empty() || text.back() != '\n') text += '\n';
  return WithHexadecimalHashes(std::move(text));
}

}  // namespace penstock::ctl
