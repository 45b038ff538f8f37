#include "server/pyworkers/supplier.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/posix/failpoint.h"

namespace penstock::pyworkers {
namespace {

std::string HowAndWords(const PyWorkerDeath& death) {
  return death.words.empty() ? death.how : absl::StrCat(death.how, "; last words: ", death.words);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Supplier>> Supplier::Make(uint64_t number, const Newcomer& host,
                                                         uint64_t trainer, uint32_t workers,
                                                         const Surroundings& surroundings,
                                                         workers::EventSet& events,
                                                         base::Duration start_timeout,
                                                         base::TimePoint now) {
  std::unique_ptr<Supplier> supplier(new Supplier(number, host, trainer, surroundings));
  PENSTOCK_ASSIGN_OR_RETURN(supplier->host_, Host::Make(host.process, events, start_timeout));
  const HostPage& page = supplier->host_->page();
  PENSTOCK_FAILPOINT_RETURN("python.before_host_page_sent");
  PENSTOCK_RETURN_IF_ERROR(supplier->Send(
      host.peer, shm::DoorwayKind::kHostPage, HostPage::kBytes,
      {page.memory().get(), page.event_to_host().get(), page.event_to_daemon().get()}));
  supplier->SetWorkers(workers, now);
  return supplier;
}

absl::Status Supplier::Send(uint64_t peer, shm::DoorwayKind kind, uint64_t bytes,
                            const std::vector<int>& fds) const {
  shm::DoorwayMemory wire = {};
  wire.header = {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
  wire.bytes = bytes;
  return surroundings_.send(peer, &wire, sizeof(wire), fds);
}

std::string Supplier::WhyGone() const {
  std::string why =
      host_->failure().ok() ? "the host ended" : std::string(host_->failure().message());
  for (const auto& [place, death] : last_deaths_)
    return absl::StrCat(why, "; its worker ", place, " was ", death);
  return why;
}

void Supplier::SetWorkers(uint32_t count, base::TimePoint now) {
  host_->SetWorkers(count);
  host_->Tick(now);
}

absl::Status Supplier::WorkerEntered(const Newcomer& worker) {
  PENSTOCK_ASSIGN_OR_RETURN(const ChannelEndpoint* channel,
                            host_->WorkerEntered(*worker.worker, worker.process));
  workers_.emplace(worker.peer, *worker.worker);
  shown_[worker.worker->place].pid = worker.pid;
  const absl::Status sent = SendChannel(worker.peer, *channel);
  if (!sent.ok()) host_->WorkerLeft(*worker.worker);
  return sent;
}

absl::Status Supplier::SendChannel(uint64_t peer, const ChannelEndpoint& channel) const {
  PENSTOCK_FAILPOINT_RETURN("python.before_channel_sent");
  PENSTOCK_RETURN_IF_ERROR(Send(
      peer, shm::DoorwayKind::kChannel, ChannelEndpoint::kBytes,
      {channel.memory().get(), channel.event_to_worker().get(), channel.event_to_daemon().get()}));
  PENSTOCK_FAILPOINT("python.channel_sent");
  return absl::OkStatus();
}

bool Supplier::PeerLeft(uint64_t peer) {
  if (peer == peer_) {
    host_->Dismiss(absl::UnavailableError("the host closed its connection"));
    return true;
  }
  const auto found = workers_.find(peer);
  if (found == workers_.end()) return false;
  host_->WorkerLeft(found->second);
  workers_.erase(found);
  return true;
}

void Supplier::SendAway() { surroundings_.close(peer_); }

void Supplier::Submit(uint32_t place, const MakeItem& item, base::TimePoint now) {
  in_hand_.emplace(item.id, Given{.place = place, .in_stream = item.part.has_value()});
  const ChannelEndpoint::Worker at = {.place = place, .start = host_->StartAt(place)};
  if (SendSegment(at, item.request.segment).ok()) {
    host_->Submit(place, item, now);
    PENSTOCK_FAILPOINT("python.batch_given");
    return;
  }
  host_->WorkerLeft(at);
  unsent_.push_back({.id = item.id, .end = MakeEnd::kLost, .given = now, .ended = now});
}

absl::Status Supplier::SendSegment(const ChannelEndpoint::Worker& to, uint32_t segment) const {
  PENSTOCK_FAILPOINT_RETURN("python.before_segment_sent");
  for (const auto& [peer, worker] : workers_)
    if (worker.place == to.place && worker.start == to.start)
      return surroundings_.send_segment(peer, segment);
  return absl::UnavailableError("the worker has left");
}

void Supplier::GiveRoom(uint32_t place, uint64_t id, uint64_t granted, base::TimePoint now) {
  host_->GiveRoom(place, id, granted, now);
}

void Supplier::Collect(base::TimePoint now, MakerNews& news) {
  Host::News own;
  host_->Collect(now, own);
  for (MakeResult& result : std::exchange(unsent_, {})) own.results.push_back(std::move(result));
  for (MakeResult& result : own.results) End(std::move(result), news);
  for (auto& [place, need] : own.needs)
    news.needs.push_back({.need = need, .host = number_, .place = place});
  for (const PyWorkerDeath& death : own.deaths) NoteDeath(death, news);
  if (!is_gone()) return;
  // Nothing more will be said about its workers. A host that ends in order kills them before it is
  // gone itself, so no batch is to blame.
  for (auto& [place, results] : std::exchange(dead_, {})) {
    for (MakeResult& result : results) {
      if (result.end == MakeEnd::kStrike) {
        result.end = MakeEnd::kLost;
        result.row.reset();
      }
      Report(std::move(result), {.how = WhyGone()}, news);
    }
  }
}

// What ended with the worker waits for its host's words if these are to be passed on.
void Supplier::End(MakeResult result, MakerNews& news) {
  const Given given = in_hand_.at(result.id);
  const bool is_dead = result.end == MakeEnd::kStrike || result.end == MakeEnd::kLost;
  if (is_dead && given.in_stream) result.end = MakeEnd::kStreamLost;
  if (result.end == MakeEnd::kStrike || result.end == MakeEnd::kStreamLost) {
    dead_[given.place].push_back(std::move(result));
    return;
  }
  in_hand_.erase(result.id);
  if (result.end == MakeEnd::kMade) ++shown_[given.place].batches;
  news.results.push_back(std::move(result));
}

void Supplier::View(std::vector<PyWorkerView>& views) const {
  const size_t first = views.size();
  host_->View(views);
  for (size_t i = first; i < views.size(); ++i) {
    PyWorkerView& view = views[i];
    view.host_pid = pid_;
    view.last_death = last_death(view.place);
    const auto found = shown_.find(view.place);
    if (found == shown_.end()) continue;
    view.batches = found->second.batches;
    const bool lives = view.state == PlaceState::kEntered || view.state == PlaceState::kReady;
    if (lives) view.pid = found->second.pid;
  }
}

uint32_t Supplier::ready() const {
  std::vector<PyWorkerView> views;
  host_->View(views);
  return static_cast<uint32_t>(
      std::count_if(views.begin(), views.end(),
                    [](const PyWorkerView& view) { return view.state == PlaceState::kReady; }));
}

base::Duration Supplier::InHand(base::TimePoint now) const {
  base::Duration time{};
  std::vector<PyWorkerView> views;
  host_->View(views);
  for (const PyWorkerView& view : views)
    if (view.in_hand) time += std::max(base::Duration::zero(), now - view.in_hand->since);
  for (const auto& [place, results] : dead_)
    for (const MakeResult& result : results) time += result.taken;
  return time;
}

void Supplier::Report(MakeResult result, const PyWorkerDeath& death, MakerNews& news) {
  result.how = death.how;
  result.words = death.words;
  in_hand_.erase(result.id);
  news.results.push_back(std::move(result));
}

void Supplier::NoteDeath(const PyWorkerDeath& death, MakerNews& news) {
  PENSTOCK_FAILPOINT("python.worker_died");
  last_deaths_[death.place] = HowAndWords(death);
  news.deaths.push_back(
      {.place = death.place, .pid = death.pid, .how = death.how, .words = death.words});
  const auto results = dead_.extract(death.place);
  if (results.empty()) return;
  for (MakeResult& result : results.mapped()) Report(std::move(result), death, news);
}

const std::string& Supplier::last_death(uint32_t place) const {
  static const std::string kNone;
  const auto found = last_deaths_.find(place);
  return found == last_deaths_.end() ? kNone : found->second;
}

}  // namespace penstock::pyworkers
