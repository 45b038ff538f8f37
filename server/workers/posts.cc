// Who is at which post: crews come when their users have rows, and go when they have none.
#include <algorithm>
#include <tuple>

#include "common/base/check.h"
#include "server/workers/post.h"
#include "server/workers/supervisor.h"

namespace penstock::workers {

// Of items that a post has at once. While others wait for it, no more than are done soon.
size_t Supervisor::Depth(uint32_t user) const {
  const size_t most = options_.read_ahead + 1;
  if (!contended_) return most;
  const auto known = users_.find(user);
  if (known == users_.end() || known->second.item <= base::Duration::zero()) return 1;
  return std::clamp<size_t>(options_.turn / known->second.item, 1, most);
}

size_t Supervisor::RoomFor(uint32_t user, uint32_t most_posts) const {
  const size_t depth = Depth(user);
  uint32_t own = 0, free = 0;
  size_t room = 0;
  for (const auto& post : posts_) {
    if (!post->Serves(now_)) continue;
    if (post->IsFree()) {
      ++free;
    } else if (post->crew->user == user) {
      ++own;
      if (!post->gives_way) room += depth - std::min(depth, post->crew->lane->outstanding());
    }
  }
  return room + depth * std::min(free, most_posts - std::min(most_posts, own));
}

// The one with the least to do; among free ones the user's own, then one that has nobody.
Supervisor::Post* Supervisor::PostFor(const WorkItem& item) const {
  const auto rank = [&](const Post& post) {
    if (post.crew == nullptr) return std::tuple(size_t{0}, 1);
    return std::tuple(post.crew->lane->outstanding(), post.crew->user == item.user ? 0 : 2);
  };
  Post* best = nullptr;
  for (const auto& post : posts_) {
    const bool own = post->crew != nullptr && post->crew->user == item.user;
    if (!post->Serves(now_) || (!post->IsFree() && (!own || post->gives_way))) continue;
    if (best == nullptr || rank(*post) < rank(*best)) best = post.get();
  }
  if (best == nullptr || best->IsFree()) return best;
  return best->crew->lane->outstanding() < Depth(item.user) ? best : nullptr;
}

void Supervisor::Submit(const WorkItem& item) {
  Post* post = PostFor(item);
  PENSTOCK_CHECK(segments_.contains(item.segment));
  if (post == nullptr || !Man(*post, item.user)) return Lose(item);
  Crew& crew = *post->crew;
  if (!Show(crew, item.segment)) {
    post->closed_until = now_ + options_.back_off.first;
    return Lose(item);
  }
  post->gives_way = false;
  crew.given.push_back({item.id, item.account});
  crew.last_account = item.account;
  if (item.aside && crew.lane->GiveAside(item)) return;
  if (!post->busy_since) post->busy_since = base::Now();
  crew.lane->Give(item);
}

void Supervisor::Lose(const WorkItem& item) {
  ended_.push_back({.id = item.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
}

// Lets the user have the free post, with a worker. False: none could be started.
bool Supervisor::Man(Post& post, uint32_t user) {
  if (post.crew == nullptr || post.crew->user != user) {
    std::unique_ptr<Crew> next = Wake(user);
    if (post.crew != nullptr) PutToSleep(post);
    const Lane::Options lane{
        .number = post.number, .limits = options_.limits, .patience = options_.patience};
    if (next == nullptr) next = std::make_unique<Crew>(user, lane, wake_, loose_);
    if (!next->lane->has_reader()) {
      CouldNotStart(post, NoThread(), now_);
      return false;
    }
    post.crew = std::move(next);
  }
  users_.try_emplace(user);
  if (!post.crew->worker) Restart(post, now_);
  if (!post.crew->worker) return false;
  post.died = false;
  return true;
}

// The one that fell asleep last: the caches know it best.
std::unique_ptr<Supervisor::Crew> Supervisor::Wake(uint32_t user) {
  const auto found = std::find_if(asleep_.rbegin(), asleep_.rend(), [user](const auto& crew) {
    return crew->user == user && crew->Accepts() && crew->IsFree();
  });
  if (found == asleep_.rend()) return nullptr;
  std::unique_ptr<Crew> crew = std::move(*found);
  asleep_.erase(std::next(found).base());
  return crew;
}

// A read that does not come back is waited for, so that its user gets on however busy others are.
void Supervisor::PutToSleep(Post& post) {
  post.NoteBusy();
  std::unique_ptr<Crew> crew = std::move(post.crew);
  post.gives_way = false;
  if (!crew->worker && crew->lane->held() == 0) return Dismiss(std::move(crew));
  crew->free_since = now_;
  asleep_.push_back(std::move(crew));
  EndTheOldestAsleep();
}

// So that there are no more than posts. One that waits for a read that does not come back goes
// last: the row is read again by another.
void Supervisor::EndTheOldestAsleep() {
  while (asleep() > posts_.size()) {
    const auto has_worker = [](const auto& each) { return each->worker.has_value(); };
    auto oldest = std::find_if(asleep_.begin(), asleep_.end(), [&](const auto& each) {
      return has_worker(each) && each->lane->held() == 0;
    });
    if (oldest == asleep_.end()) oldest = std::find_if(asleep_.begin(), asleep_.end(), has_worker);
    std::unique_ptr<Crew> crew = std::move(*oldest);
    asleep_.erase(oldest);
    Dismiss(std::move(crew));
  }
}

uint32_t Supervisor::asleep() const {
  return static_cast<uint32_t>(std::count_if(
      asleep_.begin(), asleep_.end(), [](const auto& each) { return each->worker.has_value(); }));
}

// Ends its worker. A read that does not come back keeps its lane, and no worker.
void Supervisor::Dismiss(std::unique_ptr<Crew> crew) {
  if (crew->worker) {
    Unwatch(crew->worker->link().done_event());
    Unwatch(crew->worker->pidfd());
  }
  if (crew->lane->held() == 0) return;
  if (std::exchange(crew->worker, std::nullopt)) crew->lane->Detach({}, ended_);
  leaving_.push_back(std::move(crew->lane));
}

void Supervisor::DismissUnused(base::TimePoint now) {
  const auto is_unused = [now](const Crew& crew, base::Duration keep) {
    return crew.lane->held() == 0 && (!crew.worker || now - crew.free_since > keep);
  };
  for (const auto& post : posts_)
    if (post->crew != nullptr && !post->died && is_unused(*post->crew, options_.keep_idle))
      Dismiss(std::move(post->crew));
  for (auto& crew : asleep_)
    if (is_unused(*crew, options_.keep_asleep)) Dismiss(std::move(crew));
  std::erase(asleep_, nullptr);
  std::erase_if(users_, [this](const auto& entry) {
    const auto is_theirs = [&](const Crew* crew) {
      return crew != nullptr && crew->user == entry.first;
    };
    return std::none_of(posts_.begin(), posts_.end(),
                        [&](const auto& post) { return is_theirs(post->crew.get()); }) &&
           std::none_of(asleep_.begin(), asleep_.end(),
                        [&](const auto& crew) { return is_theirs(crew.get()); });
  });
}

std::vector<Supervisor::Holding> Supervisor::Holdings() const {
  std::map<uint32_t, Holding> by_user;
  for (const auto& post : posts_) {
    if (post->IsFree() || post->retiring) continue;
    Holding& holding = by_user.try_emplace(post->crew->user).first->second;
    holding.user = post->crew->user;
    ++holding.posts;
    holding.giving_way += post->gives_way ? 1 : 0;
  }
  std::vector<Holding> holdings;
  for (const auto& [user, holding] : by_user) holdings.push_back(holding);
  return holdings;
}

std::vector<Supervisor::Served> Supervisor::WhoIsServed() const {
  std::vector<Served> served;
  const auto add = [&](const Crew* crew) {
    if (crew == nullptr || !crew->worker || crew->last_account == 0) return;
    served.push_back({.pid = crew->worker->pid(), .user = crew->user});
  };
  for (const auto& post : posts_) add(post->crew.get());
  for (const auto& crew : asleep_) add(crew.get());
  return served;
}

void Supervisor::GiveWay(uint32_t user) {
  Post* soonest = nullptr;
  for (const auto& post : posts_) {
    if (post->IsFree() || post->gives_way || post->crew->user != user) continue;
    if (soonest == nullptr || post->crew->lane->outstanding() < soonest->crew->lane->outstanding())
      soonest = post.get();
  }
  if (soonest != nullptr) soonest->gives_way = true;
}

void Supervisor::NobodyWaits() {
  for (const auto& post : posts_) post->gives_way = false;
}

void Supervisor::RemoveRetired() {
  // From the back only: a post's number is its place.
  while (!posts_.empty() && posts_.back()->retiring && posts_.back()->IsFree()) {
    retired_restarts_ += posts_.back()->restarts;
    if (posts_.back()->crew != nullptr) Dismiss(std::move(posts_.back()->crew));
    posts_.pop_back();
  }
  EndTheOldestAsleep();
}

}  // namespace penstock::workers
