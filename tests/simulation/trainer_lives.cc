// How trainers begin, die, and begin again.
#include <algorithm>
#include <utility>

#include "tests/simulation/tags.h"
#include "tests/simulation/trainers.h"

namespace penstock::simulation {
namespace {

constexpr plan::Remainder kRemainders[] = {plan::Remainder::kDrop, plan::Remainder::kPadBatch,
                                           plan::Remainder::kPartial, plan::Remainder::kPadRanks};
constexpr uint32_t kUsers = 3;
// Less than the largest batches need.
constexpr uint64_t kMostMade = 96 << 10;

}  // namespace

Trainers::Trainers(Stage& stage, Storage& storage, uint32_t jobs, bool greedy)
    : stage_(stage), storage_(storage), jobs_(jobs), greedy_(greedy) {
  for (size_t job = 0; job < jobs_.size(); ++job) Begin(job);
}

// ---- Beginning ----

// Every third job is the twin of one that runs, so that they share batches.
Job Trainers::MakeJob() {
  Random& random = stage_.random;
  Job job;
  const Job& twin = jobs_[random.Below(jobs_.size())];
  if (twin.samples > 0 && twin.streams == 0 && random.OneIn(3)) {
    job = {.user = twin.user, .dataset = twin.dataset, .order = twin.order, .seed = twin.seed};
    job.batch_size = twin.batch_size;
    job.in_python = twin.in_python;
    job.replaces = twin.replaces;
  } else {
    job.user = static_cast<uint32_t>(1000 + random.Below(kUsers));
    job.dataset = random.Below(storage_.size());
    job.order = random.OneIn(4) ? plan::Order::kSequential : plan::Order::kShuffled;
    job.seed = random.Below(1000);
    job.batch_size = static_cast<uint32_t>(random.Between(uint64_t{1}, uint64_t{8}));
    if (storage_.at(job.dataset).made_by != MadeBy::kDecoders) BeginInPython(job);
  }
  job.number = stage_.next_id++;
  job.samples = storage_.at(job.dataset).samples;
  job.remainder = kRemainders[random.Below(4)];
  job.epochs = random.Between(uint64_t{1}, uint64_t{4});
  job.window = static_cast<uint32_t>(random.Between(uint64_t{1}, uint64_t{4}));
  job.step = microseconds(random.Between(uint64_t{200}, uint64_t{20'000}));
  return job;
}

// Python datasets are those of one user, as in a private daemon.
void Trainers::BeginInPython(Job& job) {
  job.user = 1000;
  job.in_python = true;
  if (storage_.at(job.dataset).made_by == MadeBy::kPython) {
    job.replaces = stage_.random.OneIn(2);
    return;
  }
  job.streams = static_cast<uint32_t>(stage_.random.Between(uint64_t{1}, uint64_t{3}));
  job.order = plan::Order::kSequential;
  job.batch_size = 1;
}

Job Trainers::MakeGreedyJob(size_t number) {
  Job job;
  job.number = stage_.next_id++;
  job.user = static_cast<uint32_t>(1000 + number % kUsers);
  job.dataset = number % storage_.size();
  job.seed = number;
  job.samples = storage_.at(job.dataset).samples;
  job.epochs = 1'000'000;
  job.batch_size = 4;
  job.window = 4;
  job.step = microseconds(1);
  return job;
}

void Trainers::SetRanks(Job& job, size_t count) {
  job.ranks.clear();
  job.ranks.resize(count);
  for (Rank& rank : job.ranks) rank.peer.id = stage_.next_id++;
}

void Trainers::Begin(size_t number) {
  Job job = greedy_ ? MakeGreedyJob(number) : MakeJob();
  SetRanks(job, job.streams > 0 ? 1 : stage_.random.Between(uint64_t{1}, uint64_t{4}));
  job.moved_at = stage_.now();
  jobs_[number] = std::move(job);
  for (size_t i = 0; i < jobs_[number].ranks.size(); ++i)
    Reopen(number, i, stage_.random.About(milliseconds(100)));
}

feed::OpenRequest Trainers::RequestOf(const Job& job, size_t index) {
  const Rank& rank = job.ranks[index];
  feed::OpenRequest request;
  request.peer = rank.peer.id;
  request.user = job.user;
  request.dataset = storage_.Open(job.dataset);
  request.dataset_name = request.dataset->name;
  request.feed.order = job.order;
  request.feed.seed = job.seed;
  if (job.in_python) {
    request.decoding_mode = session::DecodingMode::kNone;
    request.feed.python = session::PythonFeed{
        .max_batch_bytes = kMostMade, .streams = job.streams, .replace_bad_samples = job.replaces};
    request.python_workers.count = std::max(job.streams, 1 + static_cast<uint32_t>(job.seed % 3));
  } else {
    request.feed.decoding.height = request.feed.decoding.width = kSide;
  }
  request.share = job.ShareOf(index, rank.at.consumed);
  request.first_epoch = rank.at.epoch;
  request.epochs = job.epochs - rank.at.epoch;
  request.window = job.window;
  return request;
}

void Trainers::Open(uint64_t id, uint64_t wake) {
  if (id % kMostRanks >= JobOf(id).ranks.size() || RankOf(id).wake != wake) return;
  Rank& rank = RankOf(id);
  const size_t job = id / kMostRanks, number = id % kMostRanks;
  if (daemon_ == nullptr) return Reopen(job, number, milliseconds(100));
  if (rank.at.epoch >= JobOf(id).epochs) {
    rank.done = true;
    return Settle(job);
  }
  const auto grant = daemon_->Open(RequestOf(JobOf(id), number));
  if (!grant.ok()) {
    Require(absl::IsUnavailable(grant.status()) || absl::IsResourceExhausted(grant.status()),
            "a session was refused: ", grant.status().message());
    stage_.Note("a session is refused", job, number);
    return Reopen(job, number, stage_.random.Between(milliseconds(200), seconds(3)));
  }
  Require(rank.peer.page.has_value(), "a session without a control page");
  stage_.Note("a session is open", job, number, grant->session);
  rank.grant = *grant;
  rank.opened = stage_.now();
  rank.taken = 0;
  ++resumes_;
  Wake(job, number, EventKind::kTrainer, microseconds(10));
}

void Trainers::Reopen(size_t job, size_t rank, Duration delay) {
  Wake(job, rank, EventKind::kOpen, delay);
}

// ---- Ending ----

// An orderly end releases everything; its CloseSession may get lost.
void Trainers::Leave(Rank& rank, bool orderly) {
  if (!rank.grant) return;
  if (orderly) {
    for (const HeldBatch& batch : rank.held)
      rank.page()->released[(batch.entry.sequence - 1) % shm::kControlCapacity].store(
          batch.entry.sequence);
    rank.page()->left.store(1);
    if (daemon_ != nullptr && !stage_.random.OneIn(10))
      daemon_->Close(rank.peer.id, rank.grant->session);
  } else if (daemon_ != nullptr) {
    daemon_->PeerGone(rank.peer.id);
    rank.peer = {.id = stage_.next_id++};
  }
  rank.held.clear();
  rank.last.reset();
  rank.grant.reset();
  rank.peer.page.reset();
}

std::optional<std::pair<size_t, size_t>> Trainers::AnyOpenRank() {
  std::vector<std::pair<size_t, size_t>> open;
  for (size_t job = 0; job < jobs_.size(); ++job)
    for (size_t i = 0; i < jobs_[job].ranks.size(); ++i)
      if (jobs_[job].ranks[i].grant) open.emplace_back(job, i);
  if (open.empty()) return std::nullopt;
  return open[stage_.random.Below(open.size())];
}

// One process of a job dies, and so the job: some of the others die, too, and the rest end in
// order. It starts again from its checkpoint, perhaps with other ranks and batches.
void Trainers::Kill() {
  const auto victim = AnyOpenRank();
  if (!victim) return;
  stage_.Note("a trainer dies", victim->first, victim->second);
  Job& job = jobs_[victim->first];
  for (size_t i = 0; i < job.ranks.size(); ++i)
    Leave(job.ranks[i], i != victim->second && stage_.random.OneIn(2));
  GoBack(victim->first);
}

// A rank raises the error that failed its session, and so its job ends. Otherwise its other ranks
// would wait for it for ever, with all the memory that it lacks in batches that they do not take.
void Trainers::Raise(size_t number) {
  stage_.Note("a job raises", number);
  Job& job = jobs_[number];
  for (Rank& rank : job.ranks) Leave(rank, true);
  GoBack(number);
}

void Trainers::GoBack(size_t number) {
  Job& job = jobs_[number];
  const Where to = job.checkpoint;
  job.seen.erase(job.seen.upper_bound(to.epoch), job.seen.end());
  job.seen_count.erase(job.seen_count.upper_bound(to.epoch), job.seen_count.end());
  if (job.seen.contains(to.epoch)) {
    std::vector<uint8_t>& seen = job.seen[to.epoch];
    std::fill(seen.begin() + static_cast<std::ptrdiff_t>(to.consumed), seen.end(), 0);
    job.seen_count[to.epoch] = to.consumed;
  }
  SetRanks(job, job.streams > 0 ? 1 : stage_.random.Between(uint64_t{1}, uint64_t{4}));
  if (job.streams == 0 && stage_.random.OneIn(2))
    job.batch_size = static_cast<uint32_t>(stage_.random.Between(uint64_t{1}, uint64_t{8}));
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    job.ranks[i].at = to;
    Reopen(number, i, stage_.random.Between(milliseconds(10), seconds(2)));
  }
}

// A stream begins again with its epoch.
void Trainers::ResumeAfter(size_t number, size_t rank, Duration delay) {
  Job& job = jobs_[number];
  if (job.streams == 0) return Reopen(number, rank, delay);
  const auto next = job.NextOf(rank);
  job.checkpoint = {next ? next->at.epoch : job.epochs, 0};
  GoBack(number);
}

void Trainers::Stop(Duration length) {
  const auto who = AnyOpenRank();
  if (!who) return;
  stage_.Note("a trainer stops", who->first, who->second);
  jobs_[who->first].ranks[who->second].stopped_until = stage_.now() + length;
}

// It notices later, and opens a session as another peer.
void Trainers::Disconnect() {
  const auto who = AnyOpenRank();
  if (!who || daemon_ == nullptr) return;
  stage_.Note("a trainer loses its connection", who->first, who->second);
  Rank& rank = jobs_[who->first].ranks[who->second];
  daemon_->PeerDisconnected(rank.peer.id);
  for (const HeldBatch& batch : rank.held)
    Require(IsHeld(batch.entry.segment, batch.entry.offset), "a held batch is not held");
  Leave(rank, false);
  ResumeAfter(who->first, who->second, stage_.random.Between(milliseconds(1), seconds(1)));
}

// Only its own session fails. What it holds stays as it is until it ends.
void Trainers::Lie() {
  const auto who = AnyOpenRank();
  if (!who || daemon_ == nullptr) return;
  stage_.Note("a trainer lies", who->first, who->second);
  Rank& rank = jobs_[who->first].ranks[who->second];
  rank.lies = true;
  const uint64_t announced = rank.page()->announced.load();
  const bool takes_too_many = stage_.random.OneIn(2);
  if (takes_too_many) rank.page()->taken.store(announced + 1 + stage_.random.Below(5));
  for (uint64_t i = 0; !takes_too_many && i < shm::kControlCapacity; ++i)
    rank.page()->released[i].store(stage_.random.Below(announced + 5));
  daemon_->Pump();
  Require(!takes_too_many ||
              rank.page()->state.load() != static_cast<uint32_t>(shm::SessionState::kOpen),
          "a trainer that reports more than it was given goes on");
  Leave(rank, false);
  rank.lies = false;
  ResumeAfter(who->first, who->second, stage_.random.Between(milliseconds(1), seconds(1)));
}

void Trainers::SetDraining(bool draining) {
  daemon_->SetDraining(draining);
  for (Job& job : jobs_) {
    for (size_t i = 0; i < job.ranks.size(); ++i) {
      Rank& rank = job.ranks[i];
      rank.last.reset();
      if (!draining || !rank.grant) continue;
      const auto next = job.NextOf(i);
      rank.last = {.announced = rank.page()->announced.load(),
                   .epoch = rank.taken == 0 && next ? next->at.epoch : rank.at.epoch};
    }
  }
}

// Trainers keep the batches that they hold, with the same bytes, and resume from their states.
void Trainers::DaemonGone() {
  daemon_ = nullptr;
  for (size_t job = 0; job < jobs_.size(); ++job) {
    for (size_t i = 0; i < jobs_[job].ranks.size(); ++i) {
      Rank& rank = jobs_[job].ranks[i];
      if (!rank.grant) continue;
      while (!rank.held.empty()) {
        rank.stopped_until = {};
        Release(IdOf(job, i), rank.held.front().entry.sequence);
      }
      Leave(rank, true);
      rank.peer = {.id = stage_.next_id++};
      ResumeAfter(job, i, stage_.random.Between(milliseconds(10), seconds(2)));
    }
  }
}

}  // namespace penstock::simulation
