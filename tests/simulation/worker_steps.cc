// What a simulated worker does, one step after another: start, read, decode, end.
#include <algorithm>
#include <csignal>
#include <utility>

#include "tests/simulation/decoders.h"

namespace penstock::simulation {

using workers::OutcomeKind;
using workers::WorkItem;

SimulatedWorker* SimulatedDecoders::Find(uint64_t id) const {
  for (const auto& slot : slots_)
    if (slot->worker != nullptr && slot->worker->id == id) return slot->worker.get();
  for (const auto* workers : {&asleep_, &leaving_})
    for (const auto& worker : *workers)
      if (worker->id == id) return worker.get();
  return nullptr;
}

// ---- The program ----

void SimulatedDecoders::StartProgram(Worker& worker) {
  worker.program = SimulatedProgram{.incarnation = stage_.next_id++};
  worker.given.BeginAgain();
  worker.free_since = stage_.now();
  stage_.Note("a worker starts", worker.id, worker.user, worker.program->incarnation);
  if (stage_.now() < starts_fail_until_ && stage_.random.OneIn(3))
    return Die(worker, {.signalled = false, .code = 127});
  stage_.events.After(stage_.random.Between(milliseconds(1), milliseconds(20)), EventKind::kReady,
                      worker.id, worker.program->incarnation);
}

void SimulatedDecoders::Ready(uint64_t id, uint64_t incarnation) {
  Worker* worker = Find(id);
  if (worker == nullptr || !worker->program || worker->program->incarnation != incarnation) return;
  if (worker->program->exit || worker->program->hangs) return;
  worker->program->ready = true;
  worker->program->life.NoteReady(stage_.now());
  DecodeNext(*worker);
}

void SimulatedDecoders::Die(Worker& worker, const posix::Exit& exit) {
  if (!worker.program || worker.program->exit) return;
  stage_.Note("a worker dies", worker.id, worker.program->incarnation, worker.decoding);
  worker.program->exit = exit;
}

// A killed process may still do something before it is gone.
void SimulatedDecoders::Kill(Worker& worker) {
  if (std::exchange(worker.program->killed, true)) return;
  stage_.events.After(stage_.random.About(microseconds(300)), EventKind::kExit, worker.id,
                      worker.program->incarnation);
}

void SimulatedDecoders::Exited(uint64_t id, uint64_t incarnation) {
  Worker* worker = Find(id);
  if (worker == nullptr || !worker->program || worker->program->incarnation != incarnation) return;
  Die(*worker, {.signalled = true, .code = SIGKILL});
}

void SimulatedDecoders::KillAll() {
  ForEachWorker([this](Worker& worker) { Die(worker, {.signalled = true, .code = SIGKILL}); });
}

SimulatedWorker* SimulatedDecoders::AnyWorker() {
  std::vector<Worker*> with_program;
  ForEachWorker([&](Worker& worker) {
    if (worker.program && !worker.program->exit) with_program.push_back(&worker);
  });
  return with_program.empty() ? nullptr : with_program[stage_.random.Below(with_program.size())];
}

// ---- Reading ----

void SimulatedDecoders::Give(Worker& worker, const WorkItem& item) {
  worker.given.Add(item.id, item.account);
  if (!item.aside || loose_ >= workers::kMaxLoose) {
    worker.inbox.push_back({.work = item});
    return ReadNext(worker);
  }
  ++loose_;
  worker.loose.emplace(item.id,
                       SimulatedItem{.work = item, .read_begin = stage_.now(), .reading = true});
  stage_.events.After(storage_.ReadingTime(storage_.Of(*item.dataset)), EventKind::kRead, worker.id,
                      item.id);
}

void SimulatedDecoders::ReadNext(Worker& worker) {
  if (worker.inbox.empty() || worker.inbox.front().reading) return;
  SimulatedItem& item = worker.inbox.front();
  item.reading = true;
  item.read_begin = stage_.now();
  stage_.events.After(storage_.ReadingTime(storage_.Of(*item.work.dataset)), EventKind::kRead,
                      worker.id, item.work.id);
}

void SimulatedDecoders::HasRead(uint64_t id, uint64_t item_id) {
  Worker* worker = Find(id);
  if (worker == nullptr) return;
  SimulatedItem item;
  if (const auto found = worker->loose.find(item_id); found != worker->loose.end()) {
    item = std::move(found->second);
    worker->loose.erase(found);
    --loose_;
  } else {
    Require(!worker->inbox.empty() && worker->inbox.front().work.id == item_id,
            "a read ended that nobody had begun");
    item = std::move(worker->inbox.front());
    worker->inbox.pop_front();
    ReadNext(*worker);
  }
  item.read_end = stage_.now();
  Files& files = storage_.Of(*item.work.dataset);
  const Storage::Bytes bytes = storage_.Read(*item.work.dataset, item.work.sample);
  if (!bytes.status.ok())
    return End(*worker, item, OutcomeKind::kSourceFailed, base::Fault::kNone, bytes.status);
  if (bytes.fault != base::Fault::kNone) {
    files.Refuse(item.work.sample, stage_.now());
    return End(*worker, item, OutcomeKind::kRefused, bytes.fault);
  }
  if (!worker->program || worker->program->exit) return End(*worker, item, OutcomeKind::kLost);
  if (worker->ring.empty()) worker->oldest_since = stage_.now();
  worker->ring.push_back(std::move(item));
  DecodeNext(*worker);
}

// Reads that take long go on with threads of their own, and unread items of the same dataset are
// handed back.
void SimulatedDecoders::NoteOverdue() {
  std::vector<const source::Dataset*> blocked;
  ForEachWorker([&](Worker& worker) {
    const auto late = [&](const SimulatedItem& item) {
      return item.reading && !item.overdue && stage_.now() - item.read_begin > options_.patience;
    };
    for (auto& [id, item] : worker.loose) {
      if (!late(item)) continue;
      item.overdue = true;
      overdue_.push_back(id);
      blocked.push_back(item.work.dataset);
    }
    if (worker.inbox.empty() || !late(worker.inbox.front()) || loose_ >= workers::kMaxLoose) return;
    SimulatedItem item = std::move(worker.inbox.front());
    worker.inbox.pop_front();
    item.overdue = true;
    overdue_.push_back(item.work.id);
    blocked.push_back(item.work.dataset);
    ++loose_;
    worker.loose.emplace(item.work.id, std::move(item));
    ReadNext(worker);
  });
  for (const source::Dataset* dataset : blocked) HandBack(*dataset);
}

void SimulatedDecoders::HandBack(const source::Dataset& dataset) {
  ForEachWorker([&](Worker& worker) {
    for (size_t i = worker.inbox.size(); i-- > 0;) {
      if (worker.inbox[i].reading || worker.inbox[i].work.dataset != &dataset) continue;
      End(worker, worker.inbox[i], OutcomeKind::kLost);
      worker.inbox.erase(worker.inbox.begin() + static_cast<std::ptrdiff_t>(i));
    }
  });
}

// ---- Decoding ----

void SimulatedDecoders::DecodeNext(Worker& worker) {
  if (worker.decoding || worker.ring.empty() || !worker.works()) return;
  worker.decoding = true;
  worker.program->busy_since = stage_.now();
  const WorkItem& item = worker.ring.front().work;
  write_(item, 0);
  // Users' rows differ in what they cost, as crops do.
  const Duration mean = milliseconds(2) * (1 + item.user % 3 * 2);
  stage_.events.After(stage_.random.About(mean) + microseconds(200), EventKind::kDecoded, worker.id,
                      worker.program->incarnation);
}

void SimulatedDecoders::Decoded(uint64_t id, uint64_t incarnation) {
  Worker* worker = Find(id);
  if (worker == nullptr || !worker->program || worker->program->incarnation != incarnation) return;
  if (!worker->works() || !worker->decoding) return;
  Files& files = storage_.Of(*worker->ring.front().work.dataset);
  const uint64_t sample = worker->ring.front().work.sample;
  if (files.deadly.contains(sample)) return Die(*worker, {.signalled = true, .code = SIGSEGV});
  const SimulatedItem item = std::move(worker->ring.front());
  worker->ring.pop_front();
  worker->decoding = false;
  worker->oldest_since = stage_.now();
  if (files.corrupt.contains(sample)) {
    files.Refuse(sample, stage_.now());
    End(*worker, item, OutcomeKind::kRefused, base::Fault::kCorrupt);
  } else {
    write_(item.work, 1);
    End(*worker, item, OutcomeKind::kDone);
  }
  DecodeNext(*worker);
}

void SimulatedDecoders::End(Worker& worker, const SimulatedItem& item, OutcomeKind kind,
                            base::Fault fault, absl::Status status) {
  const workers::Times times{.given = item.work.given,
                             .read_begin = item.read_begin,
                             .read_end = item.read_end,
                             .ended = stage_.now(),
                             .decode = kind == OutcomeKind::kDone
                                           ? stage_.now() - worker.program->busy_since
                                           : Duration()};
  worker.ended.push_back({.id = item.work.id,
                          .kind = kind,
                          .fault = fault,
                          .status = std::move(status),
                          .worker = worker.number,
                          .times = times});
}

}  // namespace penstock::simulation
