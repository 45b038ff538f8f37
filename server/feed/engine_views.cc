// What status shows of the engine: counts and names, copied at one moment.
#include "server/feed/engine.h"

namespace penstock::feed {

EngineView Engine::View() const {
  EngineView view;
  view.pool = pool_.Used();
  view.samples_decoded = rows_.decoded();
  view.samples_replaced = rows_.replaced();
  view.workers = workers_.status();
  view.slots = core_.CountAll();
  for (const auto& [fingerprint, weak] : feeds_) {
    const std::shared_ptr<Feed> feed = weak.lock();
    const std::optional<FeedView> counts = core_.View(FeedId(fingerprint));
    if (feed == nullptr || !counts) continue;
    view.feeds.push_back({fingerprint, feed->dataset->name, 0, 0, *counts});
    for (const auto& [id, session] : sessions_) {
      if (session.feed != feed) continue;
      ++view.feeds.back().sessions;
      view.feeds.back().user = session.request.user;
    }
  }
  return view;
}

std::vector<SessionInfo> Engine::Sessions() const {
  std::vector<SessionInfo> infos;
  for (const auto& [id, session] : sessions_) {
    const SessionView view = core_.View(SessionId(id)).value_or(SessionView{});
    const OpenRequest& request = session.request;
    infos.push_back({.id = id,
                     .name = request.name,
                     .client = request.client,
                     .dataset = request.dataset->name,
                     .state = session.ended                 ? "ended"
                              : view.finished               ? "finished"
                              : view.announced > view.taken ? "running"
                              : view.announced - view.released >= view.window
                                  ? "waiting for the trainer"
                                  : "decoding",
                     .user = request.user,
                     .pid = request.pid,
                     .fingerprint = session.feed->fingerprint,
                     .rank = request.share.rank,
                     .world = request.share.world,
                     .batch_size = request.share.batch_size,
                     .window = view.window,
                     .epoch = session.epoch,
                     .consumed = session.consumed,
                     .announced = view.announced,
                     .taken = view.taken,
                     .released = view.released});
  }
  return infos;
}

std::vector<workers::WorkerView> Engine::Workers(base::TimePoint now) const {
  return workers_.View(now);
}

}  // namespace penstock::feed
