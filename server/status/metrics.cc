#include "server/status/metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/status/families.h"
#include "server/status/metric_groups.h"

namespace penstock::status {
namespace {

double Seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

void Build(const Facts& facts, Families& out) {
  out.Begin(MetricType::kGauge, "build_info", "Always 1; its labels name the running version.")
      .samples.push_back(
          {{{"version", facts.version}, {"protocol_version", absl::StrCat(facts.protocol_version)}},
           1});
  out.Gauge("uptime_seconds", "Time since the daemon started.", Seconds(facts.uptime));
  out.Gauge("ready", "1: the daemon opens sessions and gives them batches; 0: it does not.",
            facts.ready ? 1 : 0);
  out.Gauge("draining",
            "1: the daemon drains: no new sessions, and each open one ends with its epoch.",
            facts.draining ? 1 : 0);
}

void Runner(const Facts& facts, const ScrapeFacts& scrapes, Families& out) {
  out.Gauge(
      "runner_last_pass_age_seconds",
      "Time since the last loop of the thread that serves all feeds; it loops ten times a second.",
      Seconds(facts.since_last_pass));
  out.Gauge(
      "snapshot_age_seconds",
      "Age of the metrics that only the thread that serves all feeds knows; above 1, that thread "
      "does not answer.",
      Seconds(scrapes.snapshot_age));
}

void Sessions(const Facts& facts, Families& out) {
  out.Gauge("connections", "Connected processes.", static_cast<double>(facts.connections));
  out.Gauge("connections_max", "Limit of connected processes.",
            static_cast<double>(facts.max_connections));
  out.Gauge("sessions_open", "Open sessions.", static_cast<double>(facts.sessions));
}

void Sessions(const Snapshot& snapshot, Families& out) {
  Family& sessions = out.Begin(MetricType::kGauge, "sessions", "Sessions by delivery and state.");
  for (size_t delivery = 0; delivery < kDeliveries.size(); ++delivery)
    for (size_t state = 0; state < kSessionStates.size(); ++state)
      sessions.samples.push_back({{{"delivery", std::string(kDeliveries[delivery])},
                                   {"state", std::string(kSessionStates[state])}},
                                  static_cast<double>(snapshot.sessions[delivery][state])});
  out.Gauge("sessions_max", "Limit of open sessions.", static_cast<double>(snapshot.max_sessions));
  out.Gauge("window_batches", "Batches in the prefetch windows of all sessions.",
            static_cast<double>(snapshot.window));
  out.Gauge("ready_batches", "Batches announced to trainers and not yet taken.",
            static_cast<double>(snapshot.ready));
  out.Gauge("held_batches", "Batches taken by trainers and not yet released.",
            static_cast<double>(snapshot.held));
}

void Pool(const Facts& facts, Families& out) {
  out.Gauge("pool_max_bytes", "Maximum size of the pool.", static_cast<double>(facts.pool_bytes));
  out.Gauge("pool_reserved_bytes", "Pool memory reserved for the windows of open sessions.",
            static_cast<double>(facts.reserved_bytes));
}

void Checkpoints(const CheckpointFacts& kept, Families& out) {
  out.Gauge("checkpoint_bytes", "Memory in use for checkpoints of photographs.",
            static_cast<double>(kept.bytes));
  out.Gauge("checkpoint_max_bytes", "Limit of the memory for checkpoints of photographs.",
            static_cast<double>(kept.max_bytes));
  out.Counter("checkpoint_lookups_total", "Photographs whose checkpoints were looked up.",
              static_cast<double>(kept.asked));
  out.Counter("checkpoint_hits_total", "Photographs whose checkpoints were looked up and found.",
              static_cast<double>(kept.found));
  out.Counter("checkpoints_refused_total",
              "Checkpoints of photographs not kept, because their memory was full.",
              static_cast<double>(kept.refused));
}

void Pool(const Snapshot& snapshot, Families& out) {
  out.Gauge("pool_segments", "Memory segments of the pool.", snapshot.segments);
  out.Gauge("pool_segment_bytes", "Total size of all segments.",
            static_cast<double>(snapshot.segment_bytes));
  out.ByState("slots", "Slots of the pool by state; each holds one batch.", kSlotStates,
              snapshot.slots);
}

void Feeds(const Snapshot& snapshot, Families& out) {
  using Entry = std::pair<const std::string, DatasetFigures>;
  const auto by_dataset = [&](const char* name, const char* help, uint64_t DatasetFigures::*count) {
    out.Each(MetricType::kCounter, name, help, snapshot.counts, [&](const Entry& entry) {
      return Sample{{{"dataset", entry.first}}, static_cast<double>(entry.second.*count)};
    });
  };
  out.Gauge("feeds", "Feeds with sessions.", snapshot.feeds);
  by_dataset("batches_decoded_total", "Batches filled.", &DatasetFigures::batches_decoded);
  by_dataset("batches_announced_total",
             "Batches announced to sessions; more than were filled if trainers share them.",
             &DatasetFigures::batches_announced);
  by_dataset("samples_decoded_total", "Samples decoded or copied.",
             &DatasetFigures::samples_decoded);
  by_dataset(
      "samples_replaced_total",
      "Samples that replaced one that could not be used; they count as decoded samples, too.",
      &DatasetFigures::samples_replaced);
}

// Sums of times and of items. The difference between two scrapes gives the mean over that span.
void Stages(const Snapshot& snapshot, Families& out) {
  const auto by_stage = [&](const char* name, const char* help, auto value) {
    Family& family = out.Begin(MetricType::kCounter, name, help);
    for (const auto& [dataset, counts] : snapshot.counts)
      for (size_t i = 0; i < kStages.size(); ++i)
        family.samples.push_back(
            {{{"dataset", dataset}, {"stage", std::string(kStages[i])}}, value(counts.stages[i])});
  };
  by_stage("stage_seconds_total",
           "Time that samples (read, queue, decode) and batches (assemble, copy to a GPU, wait for "
           "the consumer) spent in each stage, summed over concurrent ones.",
           [](const StageTotals& stage) { return Seconds(stage.time); });
  by_stage("stage_items_total", "Samples or batches that passed a stage.",
           [](const StageTotals& stage) { return static_cast<double>(stage.items); });
}

// Sampled ten times a second.
void Waits(const Snapshot& snapshot, Families& out) {
  using Entry = std::pair<const std::string, DatasetFigures>;
  const auto by_dataset = [&](const char* name, const char* help,
                              base::Duration DatasetFigures::*time) {
    out.Each(MetricType::kCounter, name, help, snapshot.counts, [&](const Entry& entry) {
      return Sample{{{"dataset", entry.first}}, Seconds(entry.second.*time)};
    });
  };
  by_dataset("session_open_seconds_total",
             "Total time that sessions were open and not at their end.",
             &DatasetFigures::sessions_open);
  by_dataset(
      "session_filled_seconds_total",
      "Total time that sessions were open and not at their end, weighted by the share of its "
      "window that a session had ready.",
      &DatasetFigures::sessions_filled);
  by_dataset("session_starved_seconds_total",
             "Total time that trainers of open sessions slept without a batch.",
             &DatasetFigures::sessions_starved);
}

void Datasets(const Snapshot& snapshot, Families& out) {
  std::map<std::string, uint64_t> samples;
  std::map<std::pair<std::string, std::string>, uint64_t> bad;  // by dataset and reason
  for (const DatasetFacts& dataset : snapshot.datasets) {
    const bool known = samples.contains(dataset.name);
    const std::string name =
        known || samples.size() < kMaxDatasets ? dataset.name : std::string(kOther);
    samples[name] += dataset.samples;
    for (const auto& [reason, count] : dataset.bad) bad[{name, reason}] += count;
  }
  out.Gauge("datasets_open", "Open datasets.", static_cast<double>(snapshot.datasets.size()));
  out.Each(MetricType::kGauge, "dataset_samples", "Samples of an open dataset.", samples,
           [](const auto& entry) {
             return Sample{{{"dataset", entry.first}}, static_cast<double>(entry.second)};
           });
  out.Each(MetricType::kGauge, "bad_samples",
           "Samples of an open dataset known to be bad: replaced, quarantined, or not for GPUs.",
           bad, [](const auto& entry) {
             return Sample{{{"dataset", entry.first.first}, {"reason", entry.first.second}},
                           static_cast<double>(entry.second)};
           });
}

void Workers(const Facts& facts, Families& out) {
  out.Gauge("workers_wanted", "Configured number of worker processes.", facts.workers);
  out.Gauge("workers_running", "Worker processes that are ready.", facts.workers_running);
  out.Gauge(
      "workers_sandboxed",
      "1: workers and indexers are sandboxed, as was proven at start. 0: workers.sandbox is off.",
      facts.workers_are_sandboxed ? 1 : 0);
}

void Workers(const Snapshot& snapshot, Families& out) {
  out.ByState(
      "workers",
      "Worker slots by state of their process; asleep: processes beside them that wait until "
      "their user has a slot again.",
      kWorkerStates, snapshot.workers);
  out.Gauge("workers_busy_ratio",
            "Average share of the last second that worker processes spent on samples.",
            snapshot.workers_busy);
  out.Counter("worker_restarts_total", "Worker processes started to replace another.",
              static_cast<double>(snapshot.worker_restarts));
  out.Counter(
      "forbidden_calls_total",
      "Workers and indexers killed by their sandbox for a system call that none of them makes.",
      static_cast<double>(snapshot.forbidden_calls));
  out.Gauge("stalled_reads", "Source reads that hang, or that failed and are being retried.",
            snapshot.stalls);
  out.Gauge("longest_stall_seconds", "Age of the oldest stalled read.",
            Seconds(snapshot.longest_stall));
}

void Python(const Snapshot& snapshot, Families& out) {
  const PythonFacts& python = snapshot.python;
  out.Gauge("python_hosts", "Processes that trainers forked to start Python workers.",
            static_cast<double>(python.hosts));
  out.ByState("python_workers",
              "Processes that make batches of Python datasets, by state; waiting: one has ended, "
              "and another will be started.",
              kPythonWorkerStates, python.workers);
  out.Gauge("python_workers_busy_ratio",
            "Average share of the last seconds that Python workers spent on batches.", python.busy);
  out.Counter("python_batches_total", "Batches that Python workers made.",
              static_cast<double>(python.batches));
  out.Counter(
      "python_raised_total",
      "Batches of Python datasets whose code raised an exception, which the trainer got instead.",
      static_cast<double>(python.raised));
  out.Counter(
      "python_lost_total",
      "Batches of Python datasets that were not made because their worker or its host ended.",
      static_cast<double>(python.lost));
  out.Counter("python_deaths_total", "Python workers that ended while their host went on.",
              static_cast<double>(python.deaths));
  out.Counter("python_making_seconds_total",
              "Time that Python workers spent on batches, summed over all of them.",
              Seconds(python.making));
  out.Gauge("python_granted_bytes", "Pool memory that batches of Python datasets may take.",
            static_cast<double>(python.granted_bytes));
}

void Gpus(const Snapshot& snapshot, Families& out) {
  const auto each = [&](MetricType type, const char* name, const char* help, auto value) {
    out.Each(type, name, help, snapshot.gpus, [&](const GpuFacts& gpu) {
      return Sample{{{"gpu", gpu.uuid}}, static_cast<double>(gpu.*value)};
    });
  };
  out.Each(MetricType::kGauge, "gpu_info",
           "Always 1; the labels name a GPU that a session requested.", snapshot.gpus,
           [](const GpuFacts& gpu) {
             return Sample{{{"gpu", gpu.uuid}, {"name", gpu.name}}, 1};
           });
  each(MetricType::kGauge, "gpu_serving",
       "1: the daemon can use this GPU; 0: it cannot, and penstockctl status says why.",
       &GpuFacts::serving);
  each(MetricType::kGauge, "gpu_sessions", "Sessions that deliver to this GPU.",
       &GpuFacts::sessions);
  each(MetricType::kGauge, "gpu_batches_ahead", "Batches on this GPU and not yet taken.",
       &GpuFacts::batches_ahead);
  each(MetricType::kGauge, "gpu_slab_bytes", "GPU memory in slabs for batches.",
       &GpuFacts::slab_bytes);
  each(MetricType::kGauge, "gpu_slab_max_bytes", "Maximum GPU memory for batches.",
       &GpuFacts::slab_bytes_max);
  each(MetricType::kGauge, "gpu_context_bytes",
       "GPU memory of the daemon's context, measured at its creation.", &GpuFacts::context_bytes);
  each(MetricType::kCounter, "gpu_copies_total", "Batches copied to this GPU.", &GpuFacts::copies);
  each(MetricType::kCounter, "gpu_copied_bytes_total", "Bytes copied to this GPU.",
       &GpuFacts::copied_bytes);
  each(MetricType::kCounter, "gpu_copies_from_gpus_total",
       "Batches copied to this GPU from another, over NVLink.", &GpuFacts::copies_from_gpus);
}

// The first users keep their own series, so that no counter ever decreases.
void Users(const Snapshot& snapshot, Families& out) {
  std::vector<UserFacts> shown;
  for (const UserFacts& user : snapshot.users) {
    const bool own = !user.others && shown.size() < kMaxUsers;
    if (own) {
      shown.push_back(user);
      continue;
    }
    if (shown.empty() || !shown.back().others) shown.push_back({.others = true});
    UserFacts& others = shown.back();
    others.sessions += user.sessions;
    others.pool_bytes += user.pool_bytes;
    others.reserved_bytes += user.reserved_bytes;
    others.workers += user.workers;
    others.samples_decoded += user.samples_decoded;
    others.worker_cpu += user.worker_cpu;
  }
  const auto each = [&](MetricType type, const char* name, const char* help, auto value) {
    out.Each(type, name, help, shown, [&](const UserFacts& user) {
      return Sample{{{"user", user.others ? std::string(kOther) : absl::StrCat(user.user)}},
                    value(user)};
    });
  };
  const auto number = [](uint64_t UserFacts::*count) {
    return [count](const UserFacts& user) { return static_cast<double>(user.*count); };
  };
  each(MetricType::kGauge, "user_sessions", "Sessions of a user.", number(&UserFacts::sessions));
  each(MetricType::kGauge, "user_pool_bytes", "Pool memory in a user's segments.",
       number(&UserFacts::pool_bytes));
  each(MetricType::kGauge, "user_pool_reserved_bytes",
       "Pool memory reserved for the windows of a user's open sessions.",
       number(&UserFacts::reserved_bytes));
  each(MetricType::kGauge, "user_workers", "Worker processes of a user, including those asleep.",
       number(&UserFacts::workers));
  each(MetricType::kCounter, "user_samples_decoded_total", "Samples decoded or copied for a user.",
       number(&UserFacts::samples_decoded));
  each(MetricType::kCounter, "user_worker_cpu_seconds_total",
       "CPU time of a user's worker processes.",
       [](const UserFacts& user) { return Seconds(user.worker_cpu); });
}

// Reasons are a closed set, as are methods.
void Access(const Facts& facts, const Snapshot* snapshot, Families& out) {
  auto refused = facts.refused;
  if (snapshot != nullptr && snapshot->python.refused > 0)
    refused[{"python_host", "no_ticket"}] = snapshot->python.refused;
  out.Each(MetricType::kCounter, "refusals_total",
           "Refused calls, by method and reason; the log names the callers.", refused,
           [](const auto& entry) {
             return Sample{{{"method", entry.first.first}, {"reason", entry.first.second}},
                           static_cast<double>(entry.second)};
           });
  out.Each(MetricType::kCounter, "operator_actions_total",
           "Operators' calls, by method; the log names the callers.", facts.acted,
           [](const auto& entry) {
             return Sample{{{"method", entry.first}}, static_cast<double>(entry.second)};
           });
}

void CutOffs(const Facts& facts, Families& out) {
  out.Each(MetricType::kCounter, "connections_cut_off_total",
           "Connections dropped because of what they sent, or because they did not read.",
           facts.cut_off, [](const auto& entry) {
             return Sample{{{"reason", entry.first}}, static_cast<double>(entry.second)};
           });
}

void Logging(const Facts& facts, Families& out) {
  out.Counter("log_lines_lost_total", "Lines of the log that the journal did not take in time.",
              static_cast<double>(facts.lost_log_lines));
}

void Scrapes(const ScrapeFacts& scrapes, Families& out) {
  out.Counter("scrapes_total", "Requests answered with the metrics.",
              static_cast<double>(scrapes.answered));
  Family& failed = out.Begin(MetricType::kCounter, "scrapes_failed_total",
                             "Connections to the metrics port that did not get the metrics.");
  failed.samples.push_back({{{"reason", "refused"}}, static_cast<double>(scrapes.refused)});
  failed.samples.push_back({{{"reason", "dropped"}}, static_cast<double>(scrapes.dropped)});
}

// Under the conventional names that other programs use too.
void Process(const ProcessFacts& process, Families& out) {
  const auto add = [&](MetricType type, const char* name, const char* help, double value) {
    out.Add({name, help, type, {{{}, value}}});
  };
  add(MetricType::kCounter, "process_cpu_seconds_total",
      "CPU time of the daemon without its worker processes.", process.cpu_seconds);
  add(MetricType::kGauge, "process_resident_memory_bytes",
      "Resident memory of the daemon, including the pool's touched pages.",
      static_cast<double>(process.resident_bytes));
  add(MetricType::kGauge, "process_open_fds", "Open file descriptors of the daemon.",
      static_cast<double>(process.open_fds));
  add(MetricType::kGauge, "process_max_fds", "Limit of the daemon's open file descriptors.",
      static_cast<double>(process.max_fds));
  add(MetricType::kGauge, "process_start_time_seconds",
      "Start time of the daemon, in seconds since 1970.", process.start_time);
}

}  // namespace

std::vector<Family> Metrics(const Facts& facts, const Snapshot* snapshot,
                            const ScrapeFacts& scrapes) {
  Families out;
  Build(facts, out);
  Runner(facts, scrapes, out);
  Sessions(facts, out);
  Pool(facts, out);
  Checkpoints(facts.checkpoints, out);
  KeptRows(facts.kept_rows, out);
  KeptImages(facts.kept_images, out);
  if (facts.stores) Stores(*facts.stores, out);
  Workers(facts, out);
  if (snapshot != nullptr) {
    Sessions(*snapshot, out);
    Pool(*snapshot, out);
    Feeds(*snapshot, out);
    Stages(*snapshot, out);
    Times(*snapshot, out);
    Waits(*snapshot, out);
    Datasets(*snapshot, out);
    Workers(*snapshot, out);
    Python(*snapshot, out);
    Gpus(*snapshot, out);
    Users(*snapshot, out);
  }
  CutOffs(facts, out);
  Access(facts, snapshot, out);
  Logging(facts, out);
  Scrapes(scrapes, out);
  Process(facts.process, out);
  return out.Take();
}

}  // namespace penstock::status
