// How a trainer takes, checks and releases batches.
#include "tests/simulation/trainers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/shm/doorway_wire.h"
#include "tests/simulation/made.h"

namespace penstock::simulation {
namespace {

std::vector<uint64_t> IdsOf(const std::byte* slot, const pool::SlotLayout& layout, uint32_t rows) {
  std::vector<uint64_t> ids(rows);
  std::memcpy(ids.data(), slot + layout.ids_offset, rows * sizeof(uint64_t));
  return ids;
}

uint64_t DigestOfMade(const std::byte* slot, const pool::SlotLayout& layout, uint32_t rows) {
  const std::byte* made = slot + layout.made_offset;
  const MadeHead head = ReadHead(made);
  uint64_t digest = head.check;
  if (head.kind != MadeKind::kBatch) return digest;
  const std::vector<uint64_t> offsets = MadeOffsets(IdsOf(slot, layout, rows));
  for (uint32_t row = 0; row < rows; ++row)
    digest = digest * 1'000'003 + ReadTag(made + offsets[row]).check +
             31 * ReadTag(made + offsets[row + 1] - sizeof(Tag)).again;
  return digest;
}

// What is in a batch's memory, so that a change can be noticed.
uint64_t DigestOf(const std::byte* slot, const pool::SlotLayout& layout, uint32_t rows) {
  if (layout.sparse()) return DigestOfMade(slot, layout, rows);
  uint64_t digest = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    uint64_t id;
    std::memcpy(&id, slot + layout.ids_offset + sizeof(id) * row, sizeof(id));
    const Tag tag = ReadTag(slot + layout.blocks[0].offset + row * layout.blocks[0].row_bytes);
    digest = digest * 1'000'003 + id + tag.check * 31 + tag.drawn + tag.again;
  }
  return digest;
}

}  // namespace

// ---- What it must get ----

plan::Share Job::ShareOf(size_t rank, uint64_t consumed) const {
  return {.samples = samples,
          .consumed = consumed,
          .world = static_cast<uint32_t>(ranks.size()),
          .rank = static_cast<uint32_t>(rank),
          .batch_size = batch_size,
          .remainder = remainder};
}

std::optional<Job::Next> Job::NextOf(size_t rank) const {
  for (Where at = ranks[rank].at; at.epoch < epochs; at = {at.epoch + 1, 0}) {
    const plan::Share share = ShareOf(rank, at.consumed);
    if (plan::BatchCount(share) > 0) return Next{at, plan::BatchAt(share, 0)};
  }
  return std::nullopt;
}

// Ranks go in step, as those of one model do.
bool Trainers::MayGoOn(const Job& job, size_t rank) const {
  const auto mine = job.NextOf(rank);
  if (!mine) return true;
  for (size_t other = 0; other < job.ranks.size(); ++other) {
    const auto theirs = job.NextOf(other);
    if (theirs && theirs->at < mine->at) return false;
  }
  return true;
}

// ---- Through the doorway ----

absl::Status Trainers::Receive(uint64_t peer, const void* message, size_t,
                               const std::vector<int>& fds) {
  Peer* to = nullptr;
  for (Job& job : jobs_)
    for (Rank& rank : job.ranks)
      if (rank.peer.id == peer) to = &rank.peer;
  if (to == nullptr) return absl::UnavailableError("that process is gone");
  const auto map = [&](uint64_t bytes, posix::Access access) {
    auto mapped = posix::Mapping::Map(posix::Fd(::dup(fds[0])), bytes, access);
    Require(mapped.ok(), "memory could not be mapped: ", mapped.status().message());
    return *std::move(mapped);
  };
  shm::DoorwaySegment wire;
  std::memcpy(&wire.header, message, sizeof(wire.header));
  if (wire.header.kind == shm::DoorwayKind::kSession) {
    to->page = map(shm::kControlBytes, posix::Access::kReadWrite);
    return absl::OkStatus();
  }
  std::memcpy(&wire, message, sizeof(wire));
  if (wire.header.kind == shm::DoorwayKind::kSegment) {
    to->segments[wire.segment] =
        std::make_shared<posix::Mapping>(map(wire.bytes, posix::Access::kReadOnly));
  } else {
    to->segments.erase(wire.segment);
  }
  return absl::OkStatus();
}

// ---- Taking ----

void Trainers::Hear() {
  for (size_t job = 0; job < jobs_.size(); ++job) {
    for (size_t i = 0; i < jobs_[job].ranks.size(); ++i) {
      Rank& rank = jobs_[job].ranks[i];
      if (!rank.idle || !rank.grant) continue;
      const bool has = rank.page()->announced.load() != rank.taken ||
                       rank.page()->state.load() != static_cast<uint32_t>(shm::SessionState::kOpen);
      if (has && MayGoOn(jobs_[job], i)) Wake(job, i, EventKind::kTrainer, microseconds(1));
    }
  }
}

void Trainers::Wake(size_t job, size_t rank, EventKind kind, Duration delay) {
  Rank& of = jobs_[job].ranks[rank];
  of.idle = false;
  of.wake = stage_.next_id++;
  stage_.events.After(delay, kind, IdOf(job, rank), of.wake);
}

void Trainers::Look(uint64_t id, uint64_t wake) {
  if (id % kMostRanks >= JobOf(id).ranks.size()) return;
  Rank& rank = RankOf(id);
  const size_t job = id / kMostRanks, number = id % kMostRanks;
  if (rank.wake != wake || !rank.grant) return;
  if (stage_.now() < rank.stopped_until)
    return Wake(job, number, EventKind::kTrainer, rank.stopped_until - stage_.now());
  const bool ready = rank.page()->announced.load() > rank.taken;
  if (ready && MayGoOn(JobOf(id), number)) return Take(job, number);
  const auto state = static_cast<shm::SessionState>(rank.page()->state.load());
  if (ready || state == shm::SessionState::kOpen) {
    rank.idle = true;
    return;
  }
  Leave(rank, true);
  if (state == shm::SessionState::kFinished) {
    Require(!JobOf(id).NextOf(number), "a session has finished before its last batch");
    rank.done = true;
    return Settle(job);
  }
  stage_.Note("a session ended early", job, number, static_cast<uint64_t>(state));
  if (state == shm::SessionState::kFailed && JobOf(id).in_python && stage_.random.OneIn(2))
    return Raise(job);
  ResumeAfter(job, number, stage_.random.Between(milliseconds(50), seconds(3)));
}

void Trainers::Take(size_t number, size_t index) {
  Job& job = jobs_[number];
  Rank& rank = job.ranks[index];
  const shm::ControlEntry entry = rank.page()->entries[rank.taken % shm::kControlCapacity];
  const auto next = job.NextOf(index);
  stage_.Note("a batch is taken", number, index, entry.first);
  Require(next.has_value(), "job ", job.number, " got a batch beyond its last epoch");
  Require(entry.sequence == rank.taken + 1, "batch ", entry.sequence, " came after ", rank.taken);
  Require(entry.epoch == next->at.epoch && entry.first == next->batch.first &&
              entry.rows == next->batch.rows && entry.valid_rows == next->batch.valid_rows &&
              entry.consumed == next->batch.consumed,
          "job ", job.number, " got the batch at ", entry.epoch, ":", entry.first, " (", entry.rows,
          " rows, ", entry.consumed, " consumed), not the one at ", next->at.epoch, ":",
          next->batch.first, " (", next->batch.rows, " rows, ", next->batch.consumed, " consumed)");
  Require(!rank.last || entry.sequence <= rank.last->announced || entry.epoch <= rank.last->epoch,
          "job ", job.number, " got a batch of epoch ", entry.epoch,
          " from a daemon that drains since epoch ", rank.last ? rank.last->epoch : 0);
  const auto segment = rank.peer.segments.find(entry.segment);
  Require(segment != rank.peer.segments.end(), "segment ", entry.segment, " was never sent");
  if (job.in_python) CheckMade(job, rank, segment->second->data() + entry.offset, entry);
  for (uint32_t row = 0; !job.in_python && row < entry.rows; ++row)
    CheckRow(job, segment->second->data() + entry.offset, rank.grant->layout, entry.first + row,
             row, entry.epoch, rank.opened);
  Hold(rank, entry);
  if (rank.last && entry.epoch <= rank.last->epoch)
    rank.last->announced = rank.page()->announced.load();
  rank.page()->taken.store(++rank.taken);
  MarkSeen(job, *next);
  rank.at = {next->at.epoch, next->batch.consumed};
  ++batches_;
  samples_ += entry.valid_rows;
  job.moved_at = stage_.now();
  stage_.events.After(stage_.random.About(job.step), EventKind::kRelease, IdOf(number, index),
                      entry.sequence);
  Wake(number, index, EventKind::kTrainer, stage_.random.About(job.step));
  Settle(number);
}

void Trainers::CheckRow(const Job& job, const std::byte* slot, const pool::SlotLayout& layout,
                        uint64_t index, uint32_t row, uint64_t epoch, TimePoint opened) {
  uint64_t id;
  int64_t label;
  std::memcpy(&id, slot + layout.ids_offset + sizeof(id) * row, sizeof(id));
  std::memcpy(&label, slot + layout.labels_offset + sizeof(label) * row, sizeof(label));
  const uint64_t planned =
      plan::SampleAt(job.order, job.samples, job.seed, epoch, index % job.samples);
  const bool replaced = id != planned;
  Require(!replaced || storage_.at(job.dataset).MayBeReplaced(planned, opened), "sample ", id,
          " is where the plan has sample ", planned, ", which nothing is wrong with");
  Require(id < job.samples && label == static_cast<int64_t>(id % 10), "sample ", id,
          " has the label ", label);
  const Tag tag = ReadTag(slot + layout.blocks[0].offset + row * layout.blocks[0].row_bytes);
  // Padding and stand-ins may be the second row of their sample in an epoch.
  const bool repeats = replaced || index >= job.samples;
  const uint64_t drawn = repeats ? plan::DrawNumber(index, id) : id;
  Require(tag == TagOf(id, {.seed = job.seed, .epoch = epoch, .sample = drawn}),
          "the row of sample ", id, " in epoch ", epoch, " has the content of sample ", tag.sample,
          " in epoch ", tag.epoch, ", or is torn");
  replaced_ += replaced;
}

void Trainers::CheckMade(const Job& job, const Rank& rank, const std::byte* slot,
                         const shm::ControlEntry& entry) {
  const pool::SlotLayout& layout = rank.grant->layout;
  const std::vector<uint64_t> ids = IdsOf(slot, layout, entry.rows);
  const Files& files = storage_.at(job.dataset);
  for (uint32_t row = 0; row < entry.rows; ++row) {
    const uint64_t planned = plan::SampleAt(job.order, job.samples, job.seed, entry.epoch,
                                            (entry.first + row) % job.samples);
    const bool replaced = ids[row] != planned;
    Require(!replaced || (job.replaces && files.MayBeReplaced(planned, rank.opened)), "sample ",
            ids[row], " is where the plan has sample ", planned, ", which must not be replaced");
    replaced_ += replaced;
  }
  const std::byte* made = slot + layout.made_offset;
  const MadeHead head = ReadHead(made);
  ++made_;
  if (head.kind != MadeKind::kBatch) {
    Require(head.check == HeadOf(head.kind, entry.rows, head.row).check, "a torn exception");
    if (head.kind == MadeKind::kRaised)
      Require(files.raised.contains(ids.at(head.row)), "sample ", ids.at(head.row),
              " is said to have raised");
    ++raised_;
    return;
  }
  Require(head.check == HeadOf(head.kind, entry.rows, 0).check, "a batch without its head");
  const std::vector<uint64_t> offsets = MadeOffsets(ids);
  for (uint32_t row = 0; row < entry.rows; ++row) {
    const Tag tag =
        TagOf(ids[row], {.seed = job.seed, .epoch = entry.epoch, .sample = entry.first + row});
    Require(ReadTag(made + offsets[row]) == tag &&
                ReadTag(made + offsets[row + 1] - sizeof(Tag)) == tag,
            "the row of sample ", ids[row], " in epoch ", entry.epoch,
            " has another content, or is torn");
  }
}

void Trainers::Hold(Rank& rank, const shm::ControlEntry& entry) {
  const auto segment = rank.peer.segments.at(entry.segment);
  rank.held.push_back(
      {.entry = entry,
       .segment = segment,
       .bytes_digest = DigestOf(segment->data() + entry.offset, rank.grant->layout, entry.rows)});
}

// ---- Exactly once ----

void Trainers::MarkSeen(Job& job, const Job::Next& next) {
  std::vector<uint8_t>& seen = job.seen[next.at.epoch];
  seen.resize(job.samples);
  for (uint32_t row = 0; row < next.batch.valid_rows; ++row) {
    const uint64_t index = next.batch.first + row;
    Require(index < job.samples, "position ", index, " of ", job.samples, " samples");
    Require(seen[index]++ == 0, "position ", index, " of epoch ", next.at.epoch, " of job ",
            job.number, " was delivered twice");
    ++job.seen_count[next.at.epoch];
  }
}

// When all ranks are at one place, all before it was delivered and nothing after it; the job may
// save its state then.
void Trainers::Settle(size_t number) {
  Job& job = jobs_[number];
  std::optional<Where> place;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    const auto next = job.NextOf(i);
    const Where mine = next ? next->at : Where{job.epochs, 0};
    if (place && *place != mine) return;
    place = mine;
  }
  const uint64_t count = job.seen_count.contains(place->epoch) ? job.seen_count[place->epoch] : 0;
  Require(count == place->consumed, "job ", job.number, " is at ", place->epoch, ":",
          place->consumed, ", but was given ", count, " samples of that epoch");
  if (place->epoch == job.epochs || stage_.random.OneIn(8)) {
    job.checkpoint = *place;
    if (job.streams > 0) job.checkpoint.consumed = 0;  // nobody can go on within a stream
  }
  EndEpochs(job);
  for (size_t i = 0; i < job.ranks.size(); ++i)
    if (job.ranks[i].idle) Wake(number, i, EventKind::kTrainer, microseconds(1));
  const bool done =
      std::all_of(job.ranks.begin(), job.ranks.end(), [](const Rank& rank) { return rank.done; });
  if (!done) return;
  Require(job.seen.empty(), "job ", job.number, " ended within an epoch");
  ++jobs_done_;
  for (const Rank& rank : job.ranks)
    if (daemon_ != nullptr) daemon_->PeerGone(rank.peer.id);
  if (!no_more_) Begin(number);
}

// Epochs that all ranks have left, and to which the job won't go back, are whole, but for what is
// dropped at their end.
void Trainers::EndEpochs(Job& job) {
  uint64_t first = job.checkpoint.epoch;
  for (size_t i = 0; i < job.ranks.size(); ++i)
    if (const auto next = job.NextOf(i)) first = std::min(first, next->at.epoch);
  while (!job.seen.empty() && job.seen.begin()->first < first) {
    const std::vector<uint8_t>& seen = job.seen.begin()->second;
    const auto missing =
        static_cast<uint64_t>(std::find(seen.begin(), seen.end(), 0) - seen.begin());
    const bool drops = job.remainder == plan::Remainder::kDrop;
    Require(std::all_of(seen.begin() + static_cast<std::ptrdiff_t>(missing), seen.end(),
                        [](uint8_t times) { return times == 0; }),
            "position ", missing, " of an epoch of job ", job.number, " was never delivered");
    Require(job.samples - missing < (drops ? job.batch_size * job.ranks.size() : 1), "job ",
            job.number, " lacks all from position ", missing, " on of an epoch");
    job.seen_count.erase(job.seen.begin()->first);
    job.seen.erase(job.seen.begin());
  }
}

// ---- Releasing ----

void Trainers::Release(uint64_t id, uint64_t sequence) {
  if (id % kMostRanks >= JobOf(id).ranks.size()) return;
  Rank& rank = RankOf(id);
  const auto batch = std::find_if(rank.held.begin(), rank.held.end(), [&](const HeldBatch& each) {
    return each.entry.sequence == sequence;
  });
  if (batch == rank.held.end()) return;
  if (stage_.now() < rank.stopped_until)
    return stage_.events.After(rank.stopped_until - stage_.now(), EventKind::kRelease, id,
                               sequence);
  const shm::ControlEntry& entry = batch->entry;
  Require(DigestOf(batch->segment->data() + entry.offset, rank.grant->layout, entry.rows) ==
              batch->bytes_digest,
          "a batch changed while a trainer held it");
  rank.page()->released[(sequence - 1) % shm::kControlCapacity].store(sequence);
  rank.held.erase(batch);
}

// ---- Invariants ----

bool Trainers::IsHeld(uint32_t segment, uint64_t offset) const {
  const auto is_in = [&](const shm::ControlEntry& entry, const Rank& rank) {
    return entry.segment == segment && offset >= entry.offset &&
           offset < entry.offset + rank.grant->layout.slot_bytes;
  };
  for (const Job& job : jobs_) {
    for (const Rank& rank : job.ranks) {
      if (!rank.grant || rank.lies) continue;
      for (const HeldBatch& batch : rank.held)
        if (is_in(batch.entry, rank)) return true;
      const bool open =
          rank.page()->state.load() == static_cast<uint32_t>(shm::SessionState::kOpen);
      for (uint64_t i = rank.taken; open && i < rank.page()->announced.load(); ++i)
        if (is_in(rank.page()->entries[i % shm::kControlCapacity], rank)) return true;
    }
  }
  return false;
}

void Trainers::CheckLeases() const {
  std::map<std::pair<uint32_t, uint64_t>, std::pair<uint64_t, uint32_t>> leases;
  for (const Job& job : jobs_) {
    for (const Rank& rank : job.ranks) {
      for (const HeldBatch& batch : rank.held) {
        const std::pair content{batch.entry.generation, job.user};
        const auto [lease, is_new] =
            leases.emplace(std::pair{batch.entry.segment, batch.entry.offset}, content);
        Require(is_new || lease->second == content, "slot ", batch.entry.segment, ":",
                batch.entry.offset, " is leased twice");
      }
    }
  }
}

void Trainers::CheckProgress(TimePoint well_since, Duration most) const {
  for (const Job& job : jobs_) {
    TimePoint since = std::max(job.moved_at, well_since);
    for (const Rank& rank : job.ranks) since = std::max(since, rank.stopped_until);
    const bool done =
        std::all_of(job.ranks.begin(), job.ranks.end(), [](const Rank& rank) { return rank.done; });
    Require(done || stage_.now() - since <= most, "job ", job.number,
            " has had no batch for too long, although nothing fails");
  }
}

bool Trainers::AllDone() const {
  for (const Job& job : jobs_)
    for (const Rank& rank : job.ranks)
      if (!rank.done) return false;
  return true;
}

}  // namespace penstock::simulation
