// What a simulated Python worker does, one step after another: start, make a batch row by row, die.
#include <algorithm>
#include <utility>

#include "tests/simulation/makers.h"

namespace penstock::simulation {

using pyworkers::KillCause;
using pyworkers::MakeEnd;

void SimulatedMakers::Proceed(uint64_t id, uint64_t token) {
  const Found found = Find(id);
  if (found.process == nullptr || found.process->token != token) return;
  Process& process = *found.process;
  if (process.step == Step::kDead) return Reap(found);
  if (process.hangs)
    return Die(process,
               process.step == Step::kStarts ? KillCause::kNotReady : KillCause::kNoProgress);
  switch (process.step) {
    case Step::kStarts:
      process.step = Step::kIdle;
      found.supply->worked = true;
      found.supply->failures = 0;
      return;
    case Step::kIdle:
      return process.items.empty() ? void() : Begin(process);
    case Step::kMakes:
      return Work(found);
    case Step::kAwaitsRoom:
    case Step::kDead:
      return;
  }
}

void SimulatedMakers::Begin(Process& process) {
  const pyworkers::MakeItem& item = process.items.front().item;
  const std::byte* slot = world_.slot(item, 0);
  process.samples.resize(item.request.rows);
  std::memcpy(process.samples.data(), slot + item.request.ids_offset,
              process.samples.size() * sizeof(uint64_t));
  process.offsets = MadeOffsets(process.samples);
  process.step = Step::kMakes;
  process.started = true;
  process.refused = false;
  process.row = 0;
  process.granted = item.request.granted;
  After(process, stage_.random.About(microseconds(200)));
}

// The second half of the last row, and the first of the next one.
void SimulatedMakers::Work(const Found& found) {
  Process& process = *found.process;
  if (process.refused) return Raise(found, MadeKind::kNoRoom);
  const uint32_t rows = process.items.front().item.request.rows;
  if (process.row == rows) {
    WriteRow(process, rows - 1, 1);
    WriteHead(process, MadeKind::kBatch);
    return End(process, MakeEnd::kMade, process.offsets.back(), std::nullopt);
  }
  const Files& files = FilesOf(found.dataset);
  const uint64_t sample = process.samples[process.row];
  if (files.deadly.contains(sample)) return Die(process, KillCause::kNone);
  if (files.corrupt.contains(sample)) return Raise(found, MadeKind::kRaised);
  if (process.offsets[process.row + 1] > process.granted) {
    process.step = Step::kAwaitsRoom;
    news_.needs.push_back({.need = {.id = process.items.front().item.id,
                                    .bytes = process.offsets.back(),
                                    .granted = process.granted},
                           .host = process.id,
                           .place = process.place});
    return;
  }
  if (process.row > 0) WriteRow(process, process.row - 1, 1);
  WriteRow(process, process.row++, 0);
  const bool slow = stage_.now() < files.slow_until;
  After(process, stage_.random.About(slow ? Duration(milliseconds(200)) : microseconds(500)));
}

void SimulatedMakers::GiveRoom(const pyworkers::RoomWanted& wanted, uint64_t granted, TimePoint) {
  const Found found = Find(wanted.host);
  if (found.process == nullptr || found.process->step != Step::kAwaitsRoom) return;
  Process& process = *found.process;
  Require(!process.items.empty() && process.items.front().item.id == wanted.need.id,
          "room was given for item ", wanted.need.id, ", which nobody makes");
  Require(granted >= process.granted, "a grant shrank from ", process.granted, " to ", granted);
  Require(granted <= process.items.front().item.request.most, "a grant exceeds the most");
  process.granted = granted;
  process.refused = granted < process.offsets.back();
  process.step = Step::kMakes;
  if (!process.hangs) After(process, stage_.random.About(microseconds(50)));
}

// ---- Writing ----

void SimulatedMakers::WriteRow(Process& process, uint32_t row, int half) {
  const pyworkers::MakeItem& item = process.items.front().item;
  const shm::MakeRequest& request = item.request;
  const uint64_t begin = process.offsets[row], end = process.offsets[row + 1];
  Require(end <= process.granted, "a worker would write more than it was granted");
  std::byte* made = world_.slot(item, end) + request.data_offset;
  const Tag tag =
      TagOf(process.samples[row], {.seed = request.seed,
                                   .epoch = request.epoch,
                                   .sample = request.key_first + row * request.key_step});
  WriteHalf(made + begin, tag, half);
  WriteHalf(made + end - sizeof(Tag), tag, half);
}

void SimulatedMakers::WriteHead(Process& process, MadeKind kind) {
  const pyworkers::MakeItem& item = process.items.front().item;
  const uint64_t row = kind == MadeKind::kRaised ? process.row : 0;
  const MadeHead head = HeadOf(kind, item.request.rows, row);
  std::memcpy(world_.slot(item, sizeof(head)) + item.request.data_offset, &head, sizeof(head));
}

// ---- Ends ----

void SimulatedMakers::Raise(const Found& found, MadeKind kind) {
  Process& process = *found.process;
  WriteHead(process, kind);
  const bool has_row = kind == MadeKind::kRaised;
  if (has_row) FilesOf(found.dataset).raised.insert(process.samples[process.row]);
  End(process, MakeEnd::kRaised, sizeof(MadeHead),
      has_row ? std::optional(process.row) : std::nullopt);
}

void SimulatedMakers::End(Process& process, MakeEnd end, uint64_t bytes,
                          std::optional<uint32_t> row) {
  const Given given = process.items.front();
  process.items.pop_front();
  process.started = false;
  process.step = Step::kIdle;
  news_.results.push_back({.id = given.item.id,
                           .end = end,
                           .bytes = bytes,
                           .row = row,
                           .given = given.given,
                           .ended = stage_.now(),
                           .taken = stage_.now() - given.given});
  if (!process.items.empty()) After(process, microseconds(5));
}

// Its host says a little later how it died.
void SimulatedMakers::Die(Process& process, KillCause cause) {
  stage_.Note("a maker dies", process.id, process.items.size(), process.row);
  process.step = Step::kDead;
  process.cause = cause;
  After(process, stage_.random.Between(microseconds(10), milliseconds(200)));
}

void SimulatedMakers::Reap(const Found& found) {
  Process& process = *found.process;
  bool is_strike = process.started || process.cause == KillCause::kNoProgress;
  for (const Given& given : std::exchange(process.items, {})) {
    pyworkers::MakeResult result = ToLost(given);
    if (std::exchange(is_strike, false) && result.end == MakeEnd::kLost) {
      result.end = MakeEnd::kStrike;
      result.cause = process.cause;
      if (process.started && process.row < given.item.request.rows) {
        result.row = process.row;
        Files& files = FilesOf(found.dataset);
        const uint64_t sample = process.samples[process.row];
        if (given.item.request.attempt == 0) {
          files.Strike(sample, stage_.now());
        } else {
          files.Refuse(sample, stage_.now());
        }
      }
    }
    news_.results.push_back(std::move(result));
  }
  news_.deaths.push_back({.dataset = found.dataset,
                          .account = world_.sessions(found.dataset).account,
                          .place = process.place,
                          .how = "killed by signal 9 (Killed)"});
  StartAt(*found.supply, process.place, milliseconds(100));
}

}  // namespace penstock::simulation
