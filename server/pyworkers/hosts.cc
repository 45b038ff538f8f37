#include "server/pyworkers/hosts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::pyworkers {

// ---- Sessions ----

uint32_t Hosts::WorkersLeftFor(DatasetRef dataset) const {
  uint32_t taken = 0;
  for (const auto& [other, supply] : supplies_)
    if (other != dataset) taken += supply->workers();
  return kMaxPythonWorkersOfDaemon - std::min(kMaxPythonWorkersOfDaemon, taken);
}

absl::StatusOr<HostToken> Hosts::SessionOpened(const PythonSession& session, base::TimePoint now) {
  const DatasetRef dataset = session.dataset.get();
  const uint32_t left = WorkersLeftFor(dataset);
  const uint32_t least = std::max(1u, session.streams);
  if (left < least) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "dataset '", session.called, "': the session needs at least ", least,
        " Python workers; got ", left, " that other datasets leave of the daemon's ",
        kMaxPythonWorkersOfDaemon, "; close their sessions, or lower their num_workers"));
  }
  std::unique_ptr<DatasetSupply>& supply = supplies_[dataset];
  if (supply == nullptr)
    supply =
        std::make_unique<DatasetSupply>(session.dataset, surroundings_, events_, start_timeout_);
  return supply->Open(session, left, now);
}

void Hosts::SessionClosed(uint64_t session, base::TimePoint now) {
  for (const auto& [dataset, supply] : supplies_) supply->Close(session, now);
}

// ---- Makers ----

void Hosts::Arrived(const Newcomer& newcomer, base::TimePoint now) {
  PENSTOCK_FAILPOINT("python.maker_arrived");
  absl::Status refused = absl::PermissionDeniedError("it has no token of a session");
  for (const auto& [dataset, supply] : supplies_) {
    if (!supply->Knows(newcomer.token)) continue;
    refused = supply->Arrived(newcomer, next_host_++, now);
    break;
  }
  if (refused.ok()) return;
  ++refused_;
  PENSTOCK_LOG(kInfo, newcomer.worker ? "python_worker_refused" : "host_refused",
               {"pid", newcomer.pid}, {"reason", refused.message()});
  surroundings_.close(newcomer.peer);
}

void Hosts::PeerLeft(uint64_t peer) {
  for (const auto& [dataset, supply] : supplies_) supply->PeerLeft(peer);
}

// ---- Batches ----

bool Hosts::MayMake(DatasetRef dataset, bool in_stream) {
  const auto found = supplies_.find(dataset);
  return found != supplies_.end() && found->second->MayMake(in_stream);
}

void Hosts::Submit(DatasetRef dataset, const MakeItem& item, base::TimePoint now) {
  const auto found = supplies_.find(dataset);
  PENSTOCK_CHECK(found != supplies_.end());
  MakeItem with_timeout = item;
  with_timeout.timeout = found->second->timeout();
  found->second->Submit(with_timeout, now);
}

void Hosts::GivenOut(base::TimePoint now) {
  for (const auto& [dataset, supply] : supplies_) supply->GivenOut(now);
}

MakerNews Hosts::Collect(base::TimePoint now) {
  MakerNews news;
  for (const auto& [dataset, supply] : supplies_) supply->Collect(now, news);
  return news;
}

void Hosts::GiveRoom(const RoomWanted& wanted, uint64_t granted, base::TimePoint now) {
  for (const auto& [dataset, supply] : supplies_) supply->GiveRoom(wanted, granted, now);
}

void Hosts::Tick(base::TimePoint now) {
  for (const auto& [dataset, supply] : supplies_) supply->Tick(now);
  std::erase_if(supplies_, [&](const auto& entry) {
    const bool is_over = entry.second->IsOver();
    if (is_over) past_ += entry.second->Totals(now);
    return is_over;
  });
}

MakerTotals Hosts::Totals(base::TimePoint now) const {
  MakerTotals totals = past_;
  for (const auto& [dataset, supply] : supplies_) totals += supply->Totals(now);
  return totals;
}

std::vector<PyWorkerView> Hosts::View() const {
  std::vector<PyWorkerView> views;
  for (const auto& [dataset, supply] : supplies_) supply->View(views);
  return views;
}

}  // namespace penstock::pyworkers
