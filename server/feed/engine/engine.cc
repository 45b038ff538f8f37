#include "server/feed/engine/engine.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"
#include "server/feed/fill/runs.h"

namespace penstock::feed {
namespace {

std::vector<SlotId> SlotsOf(const pool::Segment& segment) {
  std::vector<SlotId> slots;
  slots.reserve(segment.slots.size());
  for (uint32_t slot : segment.slots) slots.emplace_back(slot);
  return slots;
}

bool HasFolder(const Engine::Options& options) {
  return options.kept_rows != nullptr && options.kept_rows->max_bytes(kept::Medium::kFolder) > 0;
}

}  // namespace

Engine::Engine(Options options, SendToPeer send)
    : options_(std::move(options)),
      segments_(send),
      pool_(options_.pool, {.made = [this](const pool::Segment& s) { return SegmentMade(s); },
                            .give_up = [this](const pool::Segment& s) { return GiveUp(s); },
                            .unused = [this](uint64_t arena) { return UnusedSlots(arena); },
                            .forget = [this](uint32_t slot) { core_.Forget(SlotId(slot)); }}),
      keepers_(options_.kept_rows == nullptr
                   ? nullptr
                   : std::make_unique<kept::RowKeepers>("kept", options_.row_keepers)),
      folder_keepers_(HasFolder(options_)
                          ? std::make_unique<kept::RowKeepers>("kept-disk", kFolderKeepers)
                          : nullptr),
      worker_filler_(
          workers_, core_, pool_,
          {.budget = options_.workers.budget, .back_off = options_.workers.back_off},
          [this](uint64_t account, const auto& why) { sessions_.FailAccount(account, why); },
          {.memory = keepers_.get(), .folder = folder_keepers_.get()}),
      row_copier_filler_(row_copiers_),
      hosts_(MakersSurroundings(send), options_.workers.start_timeout),
      python_filler_(
          hosts_, pool_, worker_filler_.losses(),
          {.account_failed = [this](uint64_t account,
                                    const auto& why) { sessions_.FailAccount(account, why); },
           .dataset_failed = [this](const DatasetState* dataset,
                                    const auto& why) { sessions_.FailDataset(dataset, why); }}),
      workers_(options_.workers),
      row_copiers_(options_.row_copiers),
      gpus_(options_.gpus),
      sessions_(core_, pool_),
      statistics_(core_, options_.row_copiers.count),
      trace_(sessions_),
      drain_(sessions_),
      dispatch_(options_.retry_for, core_, pool_, feeds_,
                {&worker_filler_, &row_copier_filler_, &nobody_, &python_filler_},
                DispatchEvents()),
      opener_({.core = core_,
               .pool = pool_,
               .gpus = gpus_,
               .feeds = feeds_,
               .sessions = sessions_,
               .statistics = statistics_,
               .losses = worker_filler_.losses(),
               .rows = worker_filler_.rows(),
               .drain = drain_,
               .checkpoints = options_.checkpoints.get(),
               .kept_rows = options_.kept_rows.get(),
               .kept_images = options_.kept_images.get(),
               .hosts = &hosts_,
               .made = &python_filler_.batches()},
              options_.admission, std::move(send), [this] { return status(); }),
      deliveries_(core_, pool_, sessions_, segments_, statistics_, trace_),
      worker_count_(workers_, options_.auto_workers) {
  sessions_.WhenClosed([this](uint64_t id, const Feed& feed, base::TimePoint now) {
    opener_.SessionClosed(id, feed, now);
  });
  SetAdmission(options_.admission);
}

pyworkers::Surroundings Engine::MakersSurroundings(SendToPeer send) {
  return {.send = std::move(send),
          .send_segment = [this](uint64_t peer,
                                 uint32_t segment) { return SendToMaker(peer, segment); },
          .close = options_.close_peer,
          .want_hosts =
              [this](uint64_t session, uint32_t hosts) {
                if (const SessionRecord* record = sessions_.Find(session))
                  record->delivery->WantHosts(hosts);
              },
          .look = [this](uint64_t session) { return LookAtTrainer(session); }};
}

RowDispatch::Events Engine::DispatchEvents() {
  return {.ended =
              [this](FillPath fill_path, const FillOutcome& outcome) {
                statistics_.RowsEnded(fill_path, outcome);
                trace_.RowsEnded(fill_path, outcome);
              },
          .quarantine_grew = [this](const auto& dataset) { QuarantineChanged(dataset); },
          .feed_failed = [this](const Feed& feed,
                                const absl::Status& why) { sessions_.FailFeed(feed, why); }};
}

Engine::~Engine() = default;

absl::Status Engine::Start() {
  PENSTOCK_RETURN_IF_ERROR(pool_.Preallocate());
  PENSTOCK_RETURN_IF_ERROR(row_copiers_.Start());
  for (kept::RowKeepers* keepers : {keepers_.get(), folder_keepers_.get()})
    if (keepers != nullptr) PENSTOCK_RETURN_IF_ERROR(keepers->Start());
  PENSTOCK_RETURN_IF_ERROR(hosts_.Start());
  return workers_.Start();
}

void Engine::WatchWith(std::function<void(int, bool)> changed) {
  changed(workers_.event_fd(), true);
  changed(row_copiers_.event().get(), true);
  for (const kept::RowKeepers* keepers : {keepers_.get(), folder_keepers_.get()})
    if (keepers != nullptr) changed(keepers->event().get(), true);
  changed(hosts_.event_fd(), true);
  gpus_.WatchWith(changed);
  sessions_.WatchWith(std::move(changed));
}

// ---- The loop ----

bool Engine::Pump(base::TimePoint now) {
  now_ = now;
  bool busy = dispatch_.Collect(FillPath::kWorkers, now_);
  busy |= dispatch_.Collect(FillPath::kRowCopiers, now_);
  busy |= dispatch_.Collect(FillPath::kPython, now_);
  busy |= opener_.Collect(now_);
  busy |= deliveries_.Listen(now_);
  drain_.Tick();  // between what was taken and what is announced
  busy |= dispatch_.GiveOut(now_);
  busy |= deliveries_.Announce(now_);
  return busy;
}

void Engine::Tick(base::TimePoint now) {
  workers_.Tick(now);
  hosts_.Tick(now);
  now_ = now;
  dispatch_.Tick(now);
  gpus_.Tick(now);
  FollowDemand(now);
  trace_.Tick(now);
  if (const absl::Status lost = status(); !lost.ok()) sessions_.FailAll(lost);
  sessions_.CloseThoseThatLeft(now);
  core_.Tick(now);
  pool_.Tick(now, options_.keep_idle_segments);
  Tidy(now);
}

// Samples where the time goes, and adjusts the number of workers.
void Engine::FollowDemand(base::TimePoint now) {
  statistics_.Update(worker_filler_.rows().decoded() + python_filler_.batches().samples(), now);
  const std::optional<Statistics::Look> look =
      statistics_.LookAround(sessions_, workers_, hosts_, now);
  if (!look || !worker_count_.IsDue(now)) return;
  const EngineViews shown = views();
  std::vector<FlowFigures> figures;
  for (const auto& [feed, of_feed] : look->feeds)
    if (ToFillPath(feed->spec) != FillPath::kPython) figures.push_back(shown.ToFigures(*feed));
  worker_count_.Follow(figures, {.on_average = look->workers_busy, .lately = look->workers_lately},
                       now);
}

void Engine::Tidy(base::TimePoint now) {
  worker_filler_.rows().SaveQuarantines(now);
  statistics_.Settle(feeds_);
  for (const auto& [id, session] : sessions_.all())
    worker_filler_.losses().Touch(session.feed->account, now);
  if (!feeds_.HasIdle()) return;
  // Keeps a feed's number as long as anyone can find its slots.
  absl::flat_hash_set<FeedId> in_slots;
  core_.ForEachSlot([&](SlotId, FeedId feed) { in_slots.insert(feed); });
  feeds_.Prune(in_slots);
}

absl::Status Engine::status() const {
  PENSTOCK_RETURN_IF_ERROR(workers_.status());
  PENSTOCK_RETURN_IF_ERROR(worker_filler_.losses().status());
  return gpus_.status();
}

// ---- Sessions ----

void Engine::Open(const OpenRequest& request, base::TimePoint now,
                  const SessionOpener::Opened& done) {
  now_ = now;
  opener_.Open(request, now, done);
}

absl::Status Engine::ReportUndecodable(uint64_t peer, uint64_t id,
                                       std::span<const uint64_t> samples) {
  PENSTOCK_ASSIGN_OR_RETURN(const SessionRecord* session, sessions_.FindOf(peer, id));
  if (session->feed->spec.decoding.undecoded.place_bytes == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("session ", id, " has no undecoded rows, so its consumer decodes none"));
  const std::shared_ptr<DatasetState> dataset = session->feed->dataset;
  const uint64_t count = dataset->dataset->samples();
  for (const uint64_t sample : samples)
    if (sample >= count)
      return absl::InvalidArgumentError(absl::StrCat("samples: got ", sample, ", but the dataset '",
                                                     session->feed->called, "' has only ", count));
  const UserId user(session->request.user);
  bool is_news = false, is_full = false;
  for (const uint64_t sample : samples) {
    is_news |= worker_filler_.rows().RecordNotByGpu(dataset, sample, user);
    const source::Quarantine& quarantine = dataset->quarantine;
    is_full |= !quarantine.IsForWorkers(sample, user.value()) &&
               !quarantine.Contains(sample, user.value());
  }
  const absl::Status ended =
      is_full ? absl::ResourceExhaustedError(absl::StrCat(
                    "the list of samples of '", session->feed->called,
                    "' that GPUs cannot decode is full; see 'penstockctl quarantine list'"))
              : absl::OkStatus();
  if (!is_news) return ended;
  PENSTOCK_LOG(kWarning, "gpu_cannot_decode", {"session", id}, {"user", user.value()},
               {"dataset", dataset->name}, {"samples", samples.size()}, {"sample", samples.front()},
               {"path", dataset->dataset->path(samples.front())});
  sessions_.ForWorkersChanged(*dataset, user);
  return ended;
}

void Engine::PeerDisconnected(uint64_t peer) {
  sessions_.PeerDisconnected(peer);
  hosts_.PeerLeft(peer);
}

void Engine::PeerGone(uint64_t peer, base::TimePoint now) {
  PENSTOCK_FAILPOINT("peer.gone");
  sessions_.PeerGone(peer, now);
  gpus_.ForgetPeer(peer);
  segments_.PeerGone(peer);
}

void Engine::CloseAll() {
  const absl::Status why = absl::UnavailableError("the daemon is ending");
  worker_filler_.rows().SaveQuarantines(now_, true);
  trace_.End(why, now_);
  gpus_.CancelAll(why);
  sessions_.AnnounceClosing(why);
}

void Engine::SetAdmission(const Admission& admission) {
  opener_.SetAdmission(admission);
  worker_filler_.LimitUsers(admission.max_workers_per_user);
}

// ---- Segments ----

// Python workers write to sparse segments, and nobody else does; they get them when they need them.
absl::Status Engine::SegmentMade(const pool::Segment& segment) {
  if (!segment.sparse)
    PENSTOCK_RETURN_IF_ERROR(
        workers_.AddSegment(segment.id.value(), segment.user, segment.memory, segment.bytes));
  core_.AddSlots(ArenaId(segment.arena), SlotsOf(segment));
  return absl::OkStatus();
}

bool Engine::GiveUp(const pool::Segment& segment) {
  if (!core_.RemoveSlots(ArenaId(segment.arena), SlotsOf(segment))) return false;
  if (!segment.sparse) workers_.RemoveSegment(segment.id.value());
  PENSTOCK_FAILPOINT("segment.taken_from_workers");
  gpus_.ForgetSegment(segment.id.value());
  segments_.Gone(segment.id);
  return true;
}

absl::Status Engine::SendToMaker(uint64_t peer, uint32_t id) {
  const pool::Segment* segment = pool_.Find(pool::SegmentId(id));
  PENSTOCK_CHECK(segment != nullptr && segment->sparse);
  return segments_.SendToMaker(peer, *segment);
}

pyworkers::TrainerLook Engine::LookAtTrainer(uint64_t id) const {
  const SessionRecord* session = sessions_.Find(id);
  if (session == nullptr || session->ended) return {};
  const exporting::BatchDelivery::Waiting look = session->delivery->LookAtConsumer();
  return {.may_ask = !look.left, .is_waiting = look.asleep, .hosts_forked = look.hosts_forked};
}

std::vector<uint32_t> Engine::UnusedSlots(uint64_t arena) const {
  std::vector<uint32_t> unused;
  for (const SlotId slot : core_.Unused(ArenaId(arena))) unused.push_back(slot.value());
  return unused;
}

// ---- Views ----

EngineViews Engine::views() const {
  return EngineViews({.core = core_,
                      .pool = pool_,
                      .workers = workers_,
                      .row_copiers = row_copiers_,
                      .gpus = gpus_,
                      .feeds = feeds_,
                      .rows = worker_filler_.rows(),
                      .dispatch = dispatch_,
                      .sessions = sessions_,
                      .statistics = statistics_,
                      .drain = drain_,
                      .worker_count = worker_count_,
                      .hosts = hosts_,
                      .made = python_filler_.batches(),
                      .store_flow = options_.store_flow,
                      .cores = options_.cores,
                      .max_sessions = opener_.admission().max_sessions,
                      .status = status(),
                      .now = now_});
}

TotalsView Engine::Totals(base::TimePoint now) {
  statistics_.Settle(feeds_);
  return views().Totals(now);
}

}  // namespace penstock::feed
