// penstock-made-metrics SECONDS: prints the metrics page of an imaginary daemon on a node with two
// GPUs, SECONDS after its start, with counters that grow evenly. It provides what no test machine
// has.
#include <cstdio>
#include <cstdlib>

#include "server/status/metrics.h"

namespace status = penstock::status;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const uint64_t seconds = std::strtoull(argv[1], nullptr, 10);
  status::Snapshot snapshot;
  snapshot.counts["imagenet"] = {.batches_decoded = 20 * seconds,
                                 .batches_announced = 40 * seconds,
                                 .samples_decoded = 5120 * seconds};
  for (status::StageTotals& stage : snapshot.counts["imagenet"].stages)
    stage = {.items = 20 * seconds, .time = std::chrono::milliseconds(100 * seconds)};
  snapshot.datasets = {{"imagenet", 1'281'167, {{"truncated", 3}}}};
  snapshot.sessions[2][0] = 2;
  snapshot.max_sessions = 256;
  snapshot.window = 8;
  snapshot.ready = 6;
  snapshot.workers = {0, 0, 8, 0, 0, 0, 0};
  snapshot.workers_busy = 0.7;
  for (const char* uuid : {"GPU-1", "GPU-2"})
    snapshot.gpus.push_back({.uuid = uuid,
                             .name = "made",
                             .serving = true,
                             .sessions = 1,
                             .batches_ahead = 3,
                             .slab_bytes = uint64_t{115} << 20,
                             .slab_bytes_max = uint64_t{2} << 30,
                             .context_bytes = uint64_t{525} << 20,
                             .copies = 20 * seconds,
                             .copied_bytes = (uint64_t{770} << 20) * seconds});
  const status::Facts facts = {.version = "made",
                               .uptime = std::chrono::seconds(seconds),
                               .ready = true,
                               .max_connections = 1024,
                               .sessions = 2,
                               .workers = 8,
                               .workers_running = 8,
                               .pool_bytes = uint64_t{4} << 30,
                               .process = {.open_fds = 50, .max_fds = 1024, .start_time = 1.8e9}};
  std::fputs(status::Format(status::Metrics(facts, &snapshot, {})).c_str(), stdout);
  return 0;
}
