#include "server/app/operator/daemon_facts.h"

#include <algorithm>
#include <utility>

#include "common/shm/doorway_wire.h"
#include "common/telemetry/log.h"
#include "server/app/operator/store_facts.h"
#include "server/app/version.h"
#include "server/status/process_facts.h"

namespace penstock::app {

status::Facts DaemonFacts::Get(base::TimePoint now) const {
  const feed::Vitals vitals = parts_.runner.vitals();
  rpc::Audit::Counts audited = parts_.server.audited();
  const doorway::Doorway::Counts at_door = parts_.doorway.counts();
  if (at_door.no_place > 0) audited.refused[{"doorway", "limit"}] = at_door.no_place;
  if (at_door.bad_handshake > 0) audited.refused[{"doorway", "bad_hello"}] = at_door.bad_handshake;
  if (const uint64_t refused = parts_.signals_refused; refused > 0)
    audited.refused[{"SIGHUP", "configuration"}] = refused;
  const checkpoints::CheckpointStore::Counts kept = parts_.checkpoints.counts();
  const kept::KeptRowStore::Counts rows = parts_.kept_rows.counts();
  const kept::KeptRowStore::Counts images = parts_.kept_images.counts();
  return {.version = kVersion,
          .protocol_version = shm::kProtocolVersion,
          .uptime = now - started_,
          .ready = is_ready_() && !vitals.draining && parts_.runner.status().ok(),
          .draining = vitals.draining,
          .connections = parts_.service.connected(),
          .max_connections = max_connections_,
          .sessions = parts_.runner.sessions(),
          .workers = vitals.workers,
          .workers_running = vitals.workers_running,
          .workers_are_sandboxed = parts_.workers_are_sandboxed,
          .lost_log_lines = telemetry::LostLines(),
          .pool_bytes = vitals.pool_bytes,
          .reserved_bytes = vitals.reserved_bytes,
          .checkpoints = {.bytes = kept.bytes,
                          .max_bytes = parts_.checkpoints.max_bytes(),
                          .asked = kept.asked,
                          .found = kept.found,
                          .refused = kept.refused},
          .kept_rows = {.bytes = rows.bytes,
                        .max_bytes = parts_.kept_rows.max_bytes(kept::Medium::kMemory),
                        .folder_bytes = rows.folder_bytes,
                        .folder_max_bytes = parts_.kept_rows.max_bytes(kept::Medium::kFolder),
                        .served = rows.served,
                        .refused = rows.refused,
                        .wrong = rows.wrong},
          .kept_images = {.bytes = images.bytes,
                          .max_bytes = parts_.kept_images.max_bytes(kept::Medium::kMemory),
                          .served = images.served,
                          .refused = images.refused,
                          .wrong = images.wrong},
          .stores = parts_.stores == nullptr ? std::optional<status::StoreFacts>()
                                             : ToStoreFacts(parts_.stores->counts()),
          .since_last_pass = now - std::max(vitals.ticked, started_),
          .process = status::ReadProcessFacts(),
          .refused = std::move(audited.refused),
          .acted = std::move(audited.acted),
          .cut_off = CutOff()};
}

std::map<std::string, uint64_t> DaemonFacts::CutOff() const {
  std::map<std::string, uint64_t> counts = parts_.server.cut_off();
  const doorway::Doorway::Counts at_door = parts_.doorway.counts();
  counts["doorway_unread"] = at_door.unread;
  counts["doorway_spoke_again"] = at_door.spoke_again;
  return counts;
}

uint64_t DaemonFacts::CountCutOff() const {
  uint64_t connections = 0;
  for (const auto& [reason, count] : CutOff()) connections += count;
  return connections;
}

}  // namespace penstock::app
