// The daemon's side of Python workers: what they may write, and where.
#include <utility>

#include "tests/simulation/daemon.h"

namespace penstock::simulation {

using pyworkers::MakeEnd;

MakerSessions Daemon::SessionsOf(pyworkers::DatasetRef dataset) const {
  MakerSessions of;
  for (const auto& [id, session] : sessions_.all())
    if (!session.ended && session.feed->dataset.get() == dataset)
      of.trainers.push_back(session.request.peer);
  const auto supply = hosts_.supplies().find(dataset);
  if (supply != hosts_.supplies().end()) of.workers = supply->second->workers();
  const auto account = maker_ledger_.accounts_.find(dataset);
  if (account != maker_ledger_.accounts_.end()) of.account = account->second;
  return of;
}

void Daemon::MakerLedger::Submit(pyworkers::DatasetRef dataset, const pyworkers::MakeItem& item,
                                 TimePoint now) {
  const shm::MakeRequest& request = item.request;
  const Ledger::RowPlace place{request.segment, request.slot_offset};
  Require(!daemon_.is_held_(place.first, place.second), "a batch is to be made at ", place.first,
          ":", place.second, " while a trainer holds its slot");
  const auto [writer, is_new] = writers_.emplace(place, item.id);
  Require(is_new, "two items, ", writer->second, " and ", item.id, ", make one batch");
  Require(items_.emplace(item.id, Made{dataset, place}).second, "item ", item.id, " twice");
  Require(request.attempt < 2, "a batch that killed two workers is given to a third");
  daemon_.promises_.CheckPause(accounts_.at(dataset), now);
  daemon_.makers_.Submit(dataset, item, now);
}

pyworkers::MakerNews Daemon::MakerLedger::Collect(TimePoint now) {
  pyworkers::MakerNews news = daemon_.makers_.Collect(now);
  for (const pyworkers::MakeResult& result : news.results) {
    const auto item = items_.find(result.id);
    Require(item != items_.end(), "item ", result.id, " ended twice");
    if (result.end == MakeEnd::kRaised)
      daemon_.stage_.Note("a batch raised", result.id, item->second.place.second,
                          result.row.value_or(99));
    if (result.end == MakeEnd::kMade)
      daemon_.promises_.WentWell(accounts_.at(item->second.dataset));
    writers_.erase(item->second.place);
    items_.erase(item);
  }
  for (const auto& [dataset, why] : news.failed) failed_.push_back(dataset);
  std::vector<workers::WorkerDeath> deaths;
  for (const pyworkers::MakerDeath& death : news.deaths)
    deaths.push_back({.number = death.place, .reason = death.how, .account = death.account});
  daemon_.promises_.Died(deaths, now);
  return news;
}

// `end`: of the part that is to be written, from where the made batch begins.
std::byte* Daemon::SlotOf(const pyworkers::MakeItem& item, uint64_t end) const {
  const shm::MakeRequest& request = item.request;
  const auto writer = maker_ledger_.writers_.find({request.segment, request.slot_offset});
  Require(writer != maker_ledger_.writers_.end() && writer->second == item.id, "item ", item.id,
          " writes a batch after its result was collected");
  Require(!is_held_(request.segment, request.slot_offset), "item ", item.id,
          " writes a batch that a trainer holds");
  const pool::Segment* segment = pool_.Find(pool::SegmentId(request.segment));
  Require(segment != nullptr && segment->sparse, "item ", item.id, " writes to no such segment");
  for (const uint32_t slot : segment->slots) {
    const pool::SlotPlace& place = pool_.Place(slot);
    if (place.offset != request.slot_offset) continue;
    Require(end <= place.granted, "item ", item.id, " writes ", end, " bytes, of which ",
            place.granted, " are granted");
    return place.data;
  }
  throw Violation("a batch is made where no slot begins");
}

void Daemon::CheckFailedDatasets() {
  for (const pyworkers::DatasetRef dataset : std::exchange(maker_ledger_.failed_, {}))
    for (const auto& [id, session] : sessions_.all())
      Require(session.ended || session.feed->dataset.get() != dataset, "session ", id,
              " goes on, although no host can be had");
}

void Daemon::CheckUser(const feed::FillOutcome& outcome) const {
  const pool::SlotPlace& place = pool_.Place(outcome.task.slot.value());
  const auto user = users_.find(place.segment.value());
  Require(user != users_.end() && user->second == outcome.task.user.value(),
          "rows of a user were filled in another user's segment");
}

std::vector<uint32_t> Daemon::UnusedSlots(uint64_t arena) const {
  std::vector<uint32_t> unused;
  for (const feed::SlotId slot : core_.Unused(feed::ArenaId(arena))) unused.push_back(slot.value());
  return unused;
}

}  // namespace penstock::simulation
