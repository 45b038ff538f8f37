// Hosts, and which worker gets which batch.
#include "tests/simulation/makers.h"

#include <algorithm>

namespace penstock::simulation {

using pyworkers::DatasetRef;
using pyworkers::KillCause;
using pyworkers::MakeEnd;
using pyworkers::MakeItem;

namespace {

constexpr uint32_t kMaxFailedHosts = 3;

}  // namespace

Files& SimulatedMakers::FilesOf(DatasetRef dataset) {
  return storage_.Of(*static_cast<const feed::DatasetState*>(dataset)->dataset);
}

SimulatedMakers::Found SimulatedMakers::Find(uint64_t id) {
  for (auto& [dataset, supply] : supplies_)
    for (auto& [place, process] : supply.places)
      if (process.id == id) return {&supply, dataset, &process};
  return {};
}

SimulatedMakers::Found SimulatedMakers::AnyProcess() {
  std::vector<Found> alive;
  for (auto& [dataset, supply] : supplies_)
    for (auto& [place, process] : supply.places)
      if (process.step != Step::kDead) alive.push_back({&supply, dataset, &process});
  return alive.empty() ? Found() : alive[stage_.random.Below(alive.size())];
}

// ---- Hosts ----

void SimulatedMakers::AskForHost(DatasetRef dataset, Supply& supply) {
  if (supply.host != 0 || supply.attempt != 0) return;
  const MakerSessions sessions = world_.sessions(dataset);
  if (sessions.trainers.empty()) return;
  supply.attempt = stage_.next_id++;
  supply.trainer = sessions.trainers[stage_.random.Below(sessions.trainers.size())];
  const bool late = stage_.now() < hosts_late_until_;
  stage_.events.After(late ? stage_.random.Between(milliseconds(100), seconds(12))
                           : stage_.random.Between(milliseconds(1), milliseconds(300)),
                      EventKind::kHost, supply.id, supply.attempt);
}

void SimulatedMakers::HostEnters(uint64_t id, uint64_t attempt) {
  for (auto& [dataset, supply] : supplies_) {
    if (supply.id != id || supply.attempt != attempt) continue;
    supply.attempt = 0;
    const MakerSessions sessions = world_.sessions(dataset);
    const auto& trainers = sessions.trainers;
    if (std::find(trainers.begin(), trainers.end(), supply.trainer) == trainers.end()) return;
    if (stage_.now() < hosts_late_until_ && stage_.random.OneIn(2))
      return HostFailed(dataset, supply);  // it never enters
    supply.host = stage_.next_id++;
    supply.worked = false;
    stage_.Note("a host enters", supply.host, supply.trainer, sessions.workers);
    for (uint32_t place = 0; place < sessions.workers; ++place)
      StartAt(supply, place, Duration::zero());
    return;
  }
}

void SimulatedMakers::HostFailed(DatasetRef dataset, Supply& supply) {
  stage_.Note("a host fails", supply.id, supply.failures);
  if (++supply.failures < kMaxFailedHosts) return;
  supply.failures = 0;
  supply.failed = true;
  news_.failed.emplace_back(dataset, absl::UnavailableError("no host"));
  for (const MakeItem& item : supply.streams.TakeAll())
    news_.results.push_back(
        {.id = item.id, .end = MakeEnd::kLost, .given = stage_.now(), .ended = stage_.now()});
}

// Its workers die with it, and nobody says how.
void SimulatedMakers::HostGone(Supply& supply) {
  stage_.Note("a host is gone", supply.host);
  for (const auto& [place, process] : supply.places)
    for (const Given& given : process.items) news_.results.push_back(ToLost(given));
  supply.places.clear();
  supply.host = supply.trainer = 0;
}

pyworkers::MakeResult SimulatedMakers::ToLost(const Given& given) const {
  return {.id = given.item.id,
          .end = given.item.part ? MakeEnd::kStreamLost : MakeEnd::kLost,
          .given = given.given,
          .ended = stage_.now()};
}

void SimulatedMakers::PeerLeft(uint64_t peer) {
  for (auto& [dataset, supply] : supplies_)
    if (supply.host != 0 && supply.trainer == peer) HostGone(supply);
}

void SimulatedMakers::SessionOpened(DatasetRef dataset) {
  Supply& supply = supplies_[dataset];
  supply.failed = false;
  if (supply.host == 0) return;
  const uint32_t workers = world_.sessions(dataset).workers;
  for (auto place = static_cast<uint32_t>(supply.places.size()); place < workers; ++place)
    StartAt(supply, place, Duration::zero());
}

// ---- Workers ----

void SimulatedMakers::StartAt(Supply& supply, uint32_t place, Duration delay) {
  Process& process = supply.places[place];
  process = {.id = stage_.next_id++, .place = place};
  process.start = static_cast<uint32_t>(process.id);
  const bool late = stage_.now() < hosts_late_until_;
  After(process, delay + stage_.random.Between(milliseconds(1), milliseconds(late ? 2000 : 50)));
}

void SimulatedMakers::After(Process& process, Duration delay) {
  process.token = stage_.next_id++;
  stage_.events.After(delay, EventKind::kMaker, process.id, process.token);
}

// Every other worker has its next batch at hand.
size_t SimulatedMakers::Headroom(const Process& process) {
  if (process.step == Step::kStarts || process.step == Step::kDead) return 0;
  const size_t depth = 1 + process.id % 2;
  return depth - std::min(depth, process.items.size());
}

// ---- Batches ----

bool SimulatedMakers::MayMake(DatasetRef dataset, bool in_stream) {
  Supply& supply = supplies_[dataset];
  if (supply.id == 0) supply.id = stage_.next_id++;
  if (supply.failed) return false;
  AskForHost(dataset, supply);
  if (in_stream) return supply.streams.size() < pyworkers::StreamQueue::kMost;
  return std::any_of(supply.places.begin(), supply.places.end(),
                     [](const auto& place) { return Headroom(place.second) > 0; });
}

void SimulatedMakers::Submit(DatasetRef dataset, const MakeItem& item, TimePoint) {
  Supply& supply = supplies_.at(dataset);
  if (item.part) return supply.streams.Add(item);
  Process* best = nullptr;
  for (auto& [place, process] : supply.places)
    if (Headroom(process) > 0 && (best == nullptr || process.items.size() < best->items.size()))
      best = &process;
  Require(best != nullptr, "a batch was given out although no worker is free");
  Give(*best, item);
}

void SimulatedMakers::Give(Process& process, const MakeItem& item) {
  process.items.push_back({item, stage_.now()});
  if (process.step == Step::kIdle && process.items.size() == 1 && !process.hangs)
    After(process, stage_.random.About(microseconds(50)));
}

void SimulatedMakers::GivenOut(TimePoint) {
  for (auto& [dataset, supply] : supplies_) {
    if (supply.streams.size() > 0 && !supply.failed) AskForHost(dataset, supply);
    GiveOutStreams(supply);
  }
}

void SimulatedMakers::GiveOutStreams(Supply& supply) {
  for (auto& [place, process] : supply.places) {
    while (supply.streams.Waits(place) && Headroom(process) > 0) {
      const auto taken = supply.streams.Take(place, {supply.host, process.start});
      if (!taken.is_lost) {
        Give(process, taken.item);
        continue;
      }
      stage_.Note("a stream is lost", supply.id, place);
      news_.results.push_back({.id = taken.item.id,
                               .end = MakeEnd::kStreamLost,
                               .given = stage_.now(),
                               .ended = stage_.now()});
      stage_.events.After(microseconds(5), EventKind::kMaker);  // another pass collects it
    }
  }
}

pyworkers::MakerNews SimulatedMakers::Collect(TimePoint) { return std::exchange(news_, {}); }

// ---- Faults ----

void SimulatedMakers::KillAnyProcess() {
  if (const Found found = AnyProcess(); found.process != nullptr)
    Die(*found.process, KillCause::kNone);
}

void SimulatedMakers::KillAnyHost() {
  std::vector<std::pair<DatasetRef, Supply*>> present;
  for (auto& [dataset, supply] : supplies_)
    if (supply.host != 0) present.emplace_back(dataset, &supply);
  if (present.empty()) return;
  const auto& [dataset, supply] = present[stage_.random.Below(present.size())];
  HostGone(*supply);
  if (!supply->worked) HostFailed(dataset, *supply);
}

// It is killed when its time is up.
void SimulatedMakers::HangAnyProcess() {
  const Found found = AnyProcess();
  if (found.process == nullptr) return;
  stage_.Note("a maker hangs", found.process->id);
  found.process->hangs = true;
  After(*found.process, seconds(5));
}

size_t SimulatedMakers::items() const {
  size_t items = news_.results.size();
  for (const auto& [dataset, supply] : supplies_) {
    items += supply.streams.size();
    for (const auto& [place, process] : supply.places) items += process.items.size();
  }
  return items;
}

}  // namespace penstock::simulation
