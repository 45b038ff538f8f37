#include "tests/simulation/daemon.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace penstock::simulation {
namespace {

using feed::FillPath;

std::vector<feed::SlotId> SlotsOf(const pool::Segment& segment) {
  return {segment.slots.begin(), segment.slots.end()};
}

}  // namespace

Daemon::Daemon(Stage& stage, Storage& storage, const Options& options, feed::SendToPeer send,
               IsHeld is_held)
    : stage_(stage),
      is_held_(std::move(is_held)),
      segments_(send),
      pool_({.max_bytes = options.pool_bytes, .segment_bytes = options.segment_bytes},
            {.made = [this](const pool::Segment& s) { return SegmentMade(s); },
             .give_up = [this](const pool::Segment& s) { return GiveUp(s); },
             .unused = [this](uint64_t arena) { return UnusedSlots(arena); },
             .forget = [this](uint32_t slot) { core_.Forget(feed::SlotId(slot)); }}),
      decoders_(stage, storage, options.workers,
                [this](const workers::WorkItem& item, int half) { WriteRow(item, half); }),
      ledger_(*this),
      filler_(ledger_, core_, pool_,
              {.budget = workers::SupervisorOptions().budget,
               .back_off = workers::SupervisorOptions().back_off},
              [this](uint64_t account, const auto& why) { sessions_.FailAccount(account, why); }),
      makers_(stage, storage,
              {.sessions = [this](auto dataset) { return SessionsOf(dataset); },
               .slot = [this](const auto& item, uint64_t end) { return SlotOf(item, end); }}),
      maker_ledger_(*this),
      python_(maker_ledger_, pool_, filler_.losses(),
              {.account_failed = [this](uint64_t account,
                                        const auto& why) { sessions_.FailAccount(account, why); },
               .dataset_failed = [this](const feed::DatasetState* dataset,
                                        const auto& why) { sessions_.FailDataset(dataset, why); }}),
      sessions_(core_, pool_),
      statistics_(core_, 1),
      trace_(sessions_),
      drain_(sessions_),
      dispatch_(seconds(60), core_, pool_, feeds_, {&filler_, &no_copiers_, &nobody_, &python_},
                {.ended =
                     [this](FillPath fill_path, const feed::FillOutcome& outcome) {
                       CheckUser(outcome);
                       promises_.FillEnded(outcome);
                       statistics_.RowsEnded(fill_path, outcome);
                     },
                 .quarantine_grew = [this](const auto& dataset) { QuarantineChanged(dataset); },
                 .feed_failed =
                     [this](const feed::Feed& feed, const absl::Status& why) {
                       stage_.Note("a feed failed", feed.id.value());
                       sessions_.FailFeed(feed, why);
                     }}),
      opener_({.core = core_,
               .pool = pool_,
               .gpus = gpus_,
               .feeds = feeds_,
               .sessions = sessions_,
               .statistics = statistics_,
               .losses = filler_.losses(),
               .rows = filler_.rows(),
               .drain = drain_,
               .hosts = &hosts_,
               .made = &python_.batches()},
              {}, std::move(send), [this] { return status(); }),
      deliveries_(core_, pool_, sessions_, segments_, statistics_, trace_) {
  sessions_.WhenClosed([this](uint64_t id, const feed::Feed& feed, TimePoint now) {
    opener_.SessionClosed(id, feed, now);
  });
}

// ---- The runner: as Engine ----

bool Daemon::Pump() {
  TimePoint now = stage_.now();
  bool busy = dispatch_.Collect(FillPath::kWorkers, now);
  busy |= dispatch_.Collect(FillPath::kPython, now);
  CheckFailedDatasets();
  promises_.CheckFailedFeeds();
  busy |= deliveries_.Listen(now);
  drain_.Tick();  // between what was taken and what is announced
  busy |= dispatch_.GiveOut(now);
  busy |= deliveries_.Announce(now);
  return busy;
}

void Daemon::Tick() {
  decoders_.Tick();
  hosts_.Tick(stage_.now());
  dispatch_.Tick(stage_.now());
  CheckSlots();
  if (const absl::Status lost = status(); !lost.ok()) sessions_.FailAll(lost);
  sessions_.CloseThoseThatLeft(stage_.now());
  core_.Tick(stage_.now());
  pool_.Tick(stage_.now(), seconds(60));
  Tidy();
}

void Daemon::Tidy() {
  filler_.rows().SaveQuarantines(stage_.now());
  statistics_.Settle(feeds_);
  for (const auto& [id, session] : sessions_.all())
    filler_.losses().Touch(session.feed->account, stage_.now());
  if (!feeds_.HasIdle()) return;
  absl::flat_hash_set<feed::FeedId> in_slots;
  core_.ForEachSlot([&](feed::SlotId, feed::FeedId feed) { in_slots.insert(feed); });
  feeds_.Prune(in_slots);
}

absl::Status Daemon::status() const {
  PENSTOCK_RETURN_IF_ERROR(decoders_.status());
  return filler_.losses().status();
}

absl::Status Daemon::SegmentMade(const pool::Segment& segment) {
  users_[segment.id.value()] = segment.user;
  core_.AddSlots(feed::ArenaId(segment.arena), SlotsOf(segment));
  return absl::OkStatus();
}

bool Daemon::GiveUp(const pool::Segment& segment) {
  if (!core_.RemoveSlots(feed::ArenaId(segment.arena), SlotsOf(segment))) return false;
  users_.erase(segment.id.value());
  segments_.Gone(segment.id);
  return true;
}

// ---- Trainers ----

absl::StatusOr<session::Grant> Daemon::Open(const feed::OpenRequest& request) {
  absl::StatusOr<session::Grant> answer = absl::InternalError("no answer");
  opener_.Open(request, stage_.now(),
               [&](absl::StatusOr<session::Grant> grant) { answer = std::move(grant); });
  if (answer.ok() && request.feed.python) {
    maker_ledger_.accounts_[request.dataset.get()] = sessions_.Find(answer->session)->feed->account;
    makers_.SessionOpened(request.dataset.get());
  }
  return answer;
}

void Daemon::Close(uint64_t peer, uint64_t session) {
  const absl::Status closed = sessions_.Close(peer, session, stage_.now());
  Require(closed.ok(), "a session could not be closed: ", closed.message());
}

void Daemon::PeerDisconnected(uint64_t peer) {
  sessions_.PeerDisconnected(peer);
  makers_.PeerLeft(peer);
}

void Daemon::PeerGone(uint64_t peer) {
  makers_.PeerLeft(peer);
  sessions_.PeerGone(peer, stage_.now());
  segments_.PeerGone(peer);
}

// ---- Rows ----

void Daemon::Ledger::Submit(const workers::WorkItem& item, uint32_t most) {
  const RowPlace place{item.segment, item.row_offset};
  const auto user = daemon_.users_.find(item.segment);
  Require(user != daemon_.users_.end() && user->second == item.user, "a row of user ", item.user,
          " is in another user's segment ", item.segment);
  Require(!daemon_.is_held_(item.segment, item.row_offset), "a row is to be written at ",
          item.segment, ":", item.row_offset, " while a trainer holds its slot");
  const auto [writer, is_new] = writers_.emplace(place, item.id);
  Require(is_new, "two items, ", writer->second, " and ", item.id, ", write one row");
  items_.emplace(item.id, item);
  daemon_.promises_.Given(item, daemon_.stage_.now());
  daemon_.decoders_.Submit(item, most);
}

std::vector<workers::Outcome> Daemon::Ledger::Collect(TimePoint now) {
  std::vector<workers::Outcome> outcomes = daemon_.decoders_.Collect(now);
  for (const workers::Outcome& outcome : outcomes) {
    const auto item = items_.find(outcome.id);
    Require(item != items_.end(), "item ", outcome.id, " ended twice");
    daemon_.promises_.Ended(item->second, outcome.kind);
    writers_.erase({item->second.segment, item->second.row_offset});
    items_.erase(item);
  }
  return outcomes;
}

std::vector<workers::WorkerDeath> Daemon::Ledger::TakeDeaths() {
  std::vector<workers::WorkerDeath> deaths = daemon_.decoders_.TakeDeaths();
  daemon_.promises_.Died(deaths, daemon_.stage_.now());
  return deaths;
}

void Daemon::WriteRow(const workers::WorkItem& item, int half) {
  const auto writer = ledger_.writers_.find({item.segment, item.row_offset});
  Require(writer != ledger_.writers_.end() && writer->second == item.id, "item ", item.id,
          " writes a row after its outcome was collected");
  Require(!is_held_(item.segment, item.row_offset), "item ", item.id,
          " writes a row that a trainer holds");
  const pool::Segment* segment = pool_.Find(pool::SegmentId(item.segment));
  Require(segment != nullptr, "item ", item.id, " writes to a segment that is gone");
  WriteHalf(segment->mapping.data() + item.row_offset, TagOf(item.sample, item.key), half);
}

// ---- Invariants ----

void Daemon::Check() const {
  const size_t in_flight = filler_.rows().in_flight();
  Require(ledger_.items_.size() == in_flight, ledger_.items_.size(), " items are written, ",
          in_flight, " rows are on their way");
  Require(filler_.rows().loose() <= in_flight, filler_.rows().loose(),
          " reads are counted as slow, of ", in_flight, " rows");
  Require(decoders_.items() == in_flight, "the workers have ", decoders_.items(), " of ", in_flight,
          " items");
  decoders_.Check();
  const size_t made = python_.batches().in_flight();
  Require(makers_.items() == made && maker_ledger_.items_.size() == made, "the makers have ",
          makers_.items(), " of ", made, " batches");
  const feed::SlotCounts slots = core_.CountAll();
  const pool::Usage pool = pool_.Used();
  Require(slots.slots == pool.slots, "the core knows ", slots.slots, " of ", pool.slots, " slots");
  Require(slots.held + slots.cached + slots.filling <= slots.slots, "more slots than there are");
  Require(pool.segment_bytes <= pool.max_bytes, "the pool exceeds its limit");
  uint64_t reserved = 0;
  for (const auto& [id, session] : sessions_.all()) {
    const feed::SessionView view = *core_.View(feed::SessionId(id));
    Require(!session.ended || view.filling == 0, "session ", id, ", which has ended, waits for ",
            view.filling, " batches");
    Require(session.ended || !promises_.IsSpent(session.feed->account, stage_.now()), "session ",
            id, " goes on, although its samples cost too many workers");
    Require(view.announced - view.released + view.filling <= session.request.window, "session ", id,
            " exceeds its window");
    Require(view.released <= view.taken && view.taken <= view.announced, "session ", id,
            ": wrong counts");
    reserved += session.request.window * session.slot_bytes;
  }
  Require(reserved == pool.reserved_bytes, "windows take ", reserved, " bytes, ",
          pool.reserved_bytes, " are reserved");
}

// Slots that nobody wants any more are free as soon as their last row is back.
void Daemon::CheckSlots() const {
  std::set<uint32_t> users;
  for (const auto& [segment, user] : users_) users.insert(user);
  size_t left_behind = 0;
  for (const uint32_t user : users) {
    left_behind += filler_.rows().LeftBehind(feed::UserId(user), core_).size();
    left_behind += python_.batches().LeftBehind(feed::UserId(user), core_).size();
  }
  const size_t abandoned = core_.CountAll().abandoned;
  Require(abandoned == left_behind, abandoned, " slots are abandoned, and workers have rows of ",
          left_behind, " of them");
}

void Daemon::CheckNothingIsLeft() const {
  const feed::SlotCounts slots = core_.CountAll();
  Require(sessions_.all().empty(), sessions_.all().size(), " sessions are left");
  Require(slots.held == 0 && slots.filling == 0, slots.held, " slots are held and ", slots.filling,
          " fill without a session");
  Require(pool_.Used().reserved_bytes == 0, "memory is reserved without a session");
  Require(IsIdle() && decoders_.items() == 0 && makers_.items() == 0,
          "rows are on their way without a session");
}

}  // namespace penstock::simulation
