#include "server/pyworkers/dataset_supply.h"

#include <sys/random.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"

namespace penstock::pyworkers {
namespace {

absl::StatusOr<HostToken> NewToken() {
  PENSTOCK_FAILPOINT_RETURN("python.token");
  HostToken token;
  ssize_t got;
  do {
    got = ::getrandom(token.data(), token.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(token.size())) return token;
  return base::ErrnoStatus(errno, "getrandom for a host's token");
}

}  // namespace

// ---- Sessions ----

absl::StatusOr<HostToken> DatasetSupply::Open(const PythonSession& session, uint32_t most_workers,
                                              base::TimePoint now) {
  if (!tokens_.contains(session.peer)) {
    PENSTOCK_ASSIGN_OR_RETURN(tokens_[session.peer], NewToken());
  }
  account_ = session.account;
  called_ = session.called;
  sessions_.emplace(session.id, Member{.session = session});
  life_.SessionOpened(session.id);
  has_failed_ = false;
  useless_ = 0;
  uint32_t most = 1;
  bool keep = false;
  timeout_ = {};
  for (const auto& [id, member] : sessions_) {
    const PythonSession& each = member.session;
    const bool is_unlimited = each.timeout <= base::Duration::zero();
    timeout_ = std::max(timeout_, is_unlimited ? kLongestStandstill : each.timeout);
    most = std::max({most, each.workers, each.streams});
    keep |= each.keep_host;
  }
  life_.KeepUnused(keep ? kKeepUnusedHost : base::Duration::zero());
  workers_ = std::min({most, most_workers, shm::kMaxPythonWorkers});
  TakeBackStreams(now);
  if (supplier_ != nullptr) supplier_->SetWorkers(workers_, now);
  return tokens_.at(session.peer);
}

void DatasetSupply::Close(uint64_t session, base::TimePoint now) {
  if (sessions_.erase(session) == 0) return;
  life_.SessionGone(session, now);
  if (sessions_.empty()) TakeBackStreams(now);
}

// What waits for a worker may wait for one that never comes: no session asks for a host any more,
// or sessions with fewer streams need fewer workers. The core submits again what is still wanted.
void DatasetSupply::TakeBackStreams(base::TimePoint now) {
  for (const MakeItem& item : streams_.TakeAll())
    lost_.push_back({.id = item.id, .end = MakeEnd::kLost, .given = now, .ended = now});
}

// ---- Makers ----

std::optional<uint64_t> DatasetSupply::TrainerOf(const HostToken& token) const {
  for (const auto& [peer, known] : tokens_)
    if (known == token) return peer;
  if (supplier_ != nullptr && supplier_->token() == token) return supplier_->trainer();
  return std::nullopt;
}

absl::Status DatasetSupply::Arrived(const Newcomer& newcomer, uint64_t number,
                                    base::TimePoint now) {
  if (!newcomer.worker) return HostArrived(newcomer, number, now);
  if (supplier_ == nullptr || supplier_->is_gone() || supplier_->token() != newcomer.token)
    return absl::FailedPreconditionError("the host of this Python worker supplies nothing");
  return supplier_->WorkerEntered(newcomer);
}

absl::Status DatasetSupply::HostArrived(const Newcomer& newcomer, uint64_t number,
                                        base::TimePoint now) {
  if (!life_.Enter()) return absl::FailedPreconditionError("nobody waits for this host");
  absl::StatusOr<std::unique_ptr<Supplier>> made =
      Supplier::Make(number, newcomer, *TrainerOf(newcomer.token), std::max(workers_, 1u),
                     surroundings_, events_, start_timeout_, now);
  if (!made.ok()) {
    trouble_ = std::string(made.status().message());
    life_.Gone(HostEnd::kByItself, now);
    return made.status();
  }
  PENSTOCK_FAILPOINT("python.host_entered");
  supplier_ = *std::move(made);
  sent_away_ = false;
  ++totals_.hosts;
  return absl::OkStatus();
}

void DatasetSupply::PeerLeft(uint64_t peer) {
  tokens_.erase(peer);
  if (supplier_ != nullptr) supplier_->PeerLeft(peer);
  for (const auto& departing : departing_) departing->PeerLeft(peer);
}

// ---- Batches ----

bool DatasetSupply::MayMake(bool in_stream) {
  if (sessions_.empty()) return false;
  life_.Need();
  if (life_.state() == HostState::kFailed) return false;
  if (in_stream) return streams_.size() < StreamQueue::kMost;
  return life_.state() == HostState::kSupplying && supplier_->Headroom() > 0;
}

void DatasetSupply::Submit(const MakeItem& item, base::TimePoint now) {
  if (item.part) return streams_.Add(item);
  PENSTOCK_CHECK(life_.state() == HostState::kSupplying);
  supplier_->Submit(item, now);
}

void DatasetSupply::GivenOut(base::TimePoint now) {
  if (streams_.size() > 0) life_.Need();
  GiveOutStreams(now);
  Ask(now);
}

void DatasetSupply::GiveOutStreams(base::TimePoint now) {
  if (life_.state() != HostState::kSupplying) return;
  for (uint32_t place = 0; place < workers_ && streams_.size() > 0; ++place) {
    while (streams_.Waits(place) && supplier_->HeadroomAt(place) > 0) {
      const StreamQueue::Taken taken = streams_.Take(place, supplier_->ProcessAt(place));
      if (!taken.is_lost) {
        supplier_->Submit(place, taken.item, now);
        continue;
      }
      const std::string& death = supplier_->last_death(place);
      lost_.push_back({.id = taken.item.id,
                       .end = MakeEnd::kStreamLost,
                       .given = now,
                       .ended = now,
                       .how = death.empty() ? trouble_ : death});
    }
  }
}

void DatasetSupply::GiveRoom(const RoomWanted& wanted, uint64_t granted, base::TimePoint now) {
  if (supplier_ != nullptr && supplier_->number() == wanted.host)
    supplier_->GiveRoom(wanted.place, wanted.need.id, granted, now);
}

void DatasetSupply::Collect(base::TimePoint now, MakerNews& news) {
  const size_t known = news.deaths.size(), ended = news.results.size();
  if (supplier_ != nullptr) {
    supplier_->Collect(now, news);
    if (supplier_->host().has_worked()) life_.Worked();
  }
  for (const auto& departing : departing_) departing->Collect(now, news);
  for (size_t i = known; i < news.deaths.size(); ++i) {
    news.deaths[i].dataset = dataset();
    news.deaths[i].account = account_;
  }
  NoteEnd(now);
  std::erase_if(departing_, [](const auto& departing) { return departing->is_over(); });
  NoteFailure(now, news);
  for (MakeResult& result : std::exchange(lost_, {})) news.results.push_back(std::move(result));
  Count(news, ended, known);
  NoteUselessWorkers(ended, known, now, news);
}

// `results`, `deaths`: how many were known before.
void DatasetSupply::Count(const MakerNews& news, size_t results, size_t deaths) {
  totals_.deaths += news.deaths.size() - deaths;
  for (size_t i = results; i < news.results.size(); ++i) {
    const MakeResult& result = news.results[i];
    totals_.making += result.taken;
    ++(result.end == MakeEnd::kMade     ? totals_.made
       : result.end == MakeEnd::kRaised ? totals_.raised
                                        : totals_.lost);
  }
}

MakerTotals DatasetSupply::Totals(base::TimePoint now) const {
  MakerTotals totals = totals_;
  if (supplier_ != nullptr) totals.making += supplier_->InHand(now);
  for (const auto& departing : departing_) totals.making += departing->InHand(now);
  return totals;
}

// What ended is replaced, if anybody still wants batches.
void DatasetSupply::NoteEnd(base::TimePoint now) {
  if (supplier_ == nullptr) return;
  if (life_.state() == HostState::kEnding && !std::exchange(sent_away_, true))
    supplier_->SendAway();
  if (!supplier_->is_gone()) return;
  const bool has_trainer =
      tokens_.contains(supplier_->trainer()) &&
      std::any_of(sessions_.begin(), sessions_.end(), [this](const auto& member) {
        return member.second.session.peer == supplier_->trainer();
      });
  PENSTOCK_FAILPOINT("python.host_gone");
  trouble_ = supplier_->WhyGone();
  life_.Gone(sent_away_    ? HostEnd::kAsTold
             : has_trainer ? HostEnd::kByItself
                           : HostEnd::kWithTrainer,
             now);
  departing_.push_back(std::move(supplier_));
}

void DatasetSupply::NoteFailure(base::TimePoint now, MakerNews& news) {
  if (life_.state() != HostState::kFailed || std::exchange(has_failed_, true)) return;
  news.failed.emplace_back(
      dataset(), absl::UnavailableError(absl::StrCat(
                     "dataset '", called_, "': ", kMaxFailedHosts,
                     " processes in a row that trainers forked to make its batches failed; the "
                     "last one: ",
                     trouble_.empty() ? "it did not enter the daemon in time" : trouble_)));
  TakeBackStreams(now);
}

// What ends a worker before its first batch, such as worker_init_fn or a limit of memory, ends the
// next one, too. `results`, `deaths`: how many were known before.
void DatasetSupply::NoteUselessWorkers(size_t results, size_t deaths, base::TimePoint now,
                                       MakerNews& news) {
  for (size_t i = results; i < news.results.size(); ++i)
    if (news.results[i].end != MakeEnd::kLost) useless_ = 0;
  useless_ += static_cast<uint32_t>(news.deaths.size() - deaths);
  if (news.deaths.size() == deaths || useless_ < kMaxUselessWorkers * (workers_ + 1)) return;
  if (std::exchange(has_failed_, true)) return;
  const MakerDeath& last = news.deaths.back();
  news.failed.emplace_back(
      dataset(),
      absl::FailedPreconditionError(absl::StrCat(
          "dataset '", called_, "': ", useless_,
          " Python workers in a row ended before they began a batch; the last one was ", last.how,
          last.words.empty() ? "" : absl::StrCat("; its last words: ", last.words),
          "; look at worker_init_fn, and at the limits of memory (ulimit -v) and processes (ulimit "
          "-u)")));
  TakeBackStreams(now);
}

// ---- Asking ----

// One that waits for a batch looks at its page at once.
std::map<uint64_t, DatasetSupply::Member>::iterator DatasetSupply::WhomToAsk() {
  auto best = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    if (life_.IsAsked(at->first) || !tokens_.contains(at->second.session.peer)) continue;
    const TrainerLook look = surroundings_.look(at->first);
    if (!look.may_ask) continue;
    if (look.is_waiting) return at;
    if (best == sessions_.end()) best = at;
  }
  return best;
}

void DatasetSupply::Ask(base::TimePoint now) {
  if (life_.state() != HostState::kWanted) return;
  const auto chosen = WhomToAsk();
  if (chosen == sessions_.end()) return;
  const bool waits = surroundings_.look(chosen->first).is_waiting;
  if (!life_.WantsAsk(now, waits ? NextTrainer::kWaits : NextTrainer::kIsBusy)) return;
  life_.Ask(chosen->first, now);
  PENSTOCK_FAILPOINT("python.before_host_wanted");
  surroundings_.want_hosts(chosen->first, ++chosen->second.hosts_wanted);
  PENSTOCK_FAILPOINT("python.host_wanted");
}

void DatasetSupply::Tick(base::TimePoint now) {
  if (life_.state() == HostState::kWanted) {
    for (const auto& [id, member] : sessions_) {
      if (!life_.IsAsked(id)) continue;
      if (surroundings_.look(id).hosts_forked >= member.hosts_wanted) life_.Forked(id, now);
    }
    const uint32_t failures = life_.failures();
    life_.Tick(now);
    if (life_.failures() > failures) trouble_ = "it did not enter the daemon in time";
  } else {
    life_.Tick(now);
  }
  if (supplier_ != nullptr) supplier_->Tick(now);
  for (const auto& departing : departing_) departing->Tick(now);
  Ask(now);
}

bool DatasetSupply::IsOver() const {
  return sessions_.empty() && supplier_ == nullptr && departing_.empty() && streams_.size() == 0 &&
         lost_.empty();
}

void DatasetSupply::View(std::vector<PyWorkerView>& views) const {
  if (supplier_ == nullptr) return;
  const size_t first = views.size();
  supplier_->View(views);
  for (size_t i = first; i < views.size(); ++i) views[i].dataset = called_;
}

}  // namespace penstock::pyworkers
