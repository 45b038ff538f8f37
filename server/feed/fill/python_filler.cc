#include "server/feed/fill/python_filler.h"

#include <utility>

#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::feed {

bool PythonFiller::MayRead(UserId, const Feed& feed, bool, base::TimePoint now) const {
  if (losses_.AnyPaused(now) && losses_.IsPaused(feed.account, now)) return false;
  const bool in_stream = feed.spec.python && feed.spec.python->streams > 0;
  return makers_.MayMake(feed.dataset.get(), in_stream);
}

std::optional<FillOutcome> PythonFiller::Begin(FillJob job) {
  const absl::StatusOr<pyworkers::MakeItem> item = batches_.Begin(job);
  if (!item.ok())
    return FillOutcome{.task = job.task,
                       .feed = std::move(job.feed),
                       .end = FillEnd::kLost,
                       .feed_failed = item.status()};
  makers_.Submit(job.feed->dataset.get(), *item, job.given);
  return std::nullopt;
}

std::vector<FillOutcome> PythonFiller::Collect(base::TimePoint now) {
  const pyworkers::MakerNews news = makers_.Collect(now);
  NoteDeaths(news.deaths, now);
  for (const pyworkers::RoomWanted& wanted : news.needs) {
    const uint64_t granted = batches_.Grant(wanted.need);
    PENSTOCK_FAILPOINT("python.room_not_told");
    makers_.GiveRoom(wanted, granted, now);
  }
  std::vector<FillOutcome> ended;
  ended.reserve(news.results.size());
  for (const pyworkers::MakeResult& result : news.results) {
    ended.push_back(batches_.End(result));
    if (result.end == pyworkers::MakeEnd::kMade) losses_.WentWell(ended.back().feed->account);
  }
  for (const auto& [dataset, why] : news.failed)
    events_.dataset_failed(static_cast<const DatasetState*>(dataset), why);
  return ended;
}

void PythonFiller::NoteDeaths(const std::vector<pyworkers::MakerDeath>& deaths,
                              base::TimePoint now) {
  for (const pyworkers::MakerDeath& death : deaths) {
    PENSTOCK_LOG(kWarning, "python_worker_died", {"worker", death.place}, {"pid", death.pid},
                 {"reason", death.how}, {"words", death.words});
    const std::string why =
        death.words.empty() ? death.how : absl::StrCat(death.how, "; ", death.words);
    const absl::Status spent = losses_.Died(death.account, why, now);
    if (!spent.ok()) events_.account_failed(death.account, spent);
  }
}

}  // namespace penstock::feed
