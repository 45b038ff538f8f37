// A worker that writes anything anywhere in its channel and its input memory, against the queue
// that serves it. The input is a list of 13-byte steps: an action, an offset and a number.
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "server/workers/queue/queue_reads.h"
#include "tests/support/fakes/fake_dataset.h"

namespace base = penstock::base;
namespace posix = penstock::posix;
namespace shm = penstock::shm;
namespace workers = penstock::workers;

namespace {

constexpr uint64_t kArena = 16384;
constexpr size_t kStepBytes = 13, kAllBytes = workers::kArenaOffset + kArena;

const penstock::testing::FakeDataset& Dataset() {
  static const penstock::testing::FakeDataset dataset(
      1000, [](uint64_t sample) { return std::vector<std::byte>(1 + sample % 700); });
  return dataset;
}

class Queue {
 public:
  Queue() : wake_(posix::MakeEvent().value()), reads_({.limits = {.max_bytes = 4096}}, wake_) {
    Attach();
  }

  void Step(std::span<const uint8_t> step) {
    uint32_t where;
    uint64_t number;
    std::memcpy(&where, step.data() + 1, sizeof(where));
    std::memcpy(&number, step.data() + 5, sizeof(number));
    switch (step[0] % 8) {
      case 0:
      case 1:
        return Write(where, number);
      case 2:  // near the counters of the two rings
        return Write(offsetof(workers::Channel, completions) + where % 256, number);
      case 3:
      case 4:
        return Give(number);
      case 5:
        return Answer(step[1] % 4 == 0 ? number : answered_ + 1, number);
      case 6:
        return link_->AnnounceSleep();
      default:
        return Collect();
    }
  }

  // Each item must have ended exactly once, whatever the worker wrote.
  void End() {
    Collect();
    Replace();
    PENSTOCK_CHECK(given_.empty());
    reads_.Stop();
  }

 private:
  void Attach() {
    link_ =
        workers::SupervisorEndpoint::Make({.arena_bytes = kArena, .memory_bytes = 0, .limits = {}})
            .value();
    theirs_ = posix::Mapping::Map(link_->memory(), kAllBytes, posix::Access::kReadWrite).value();
    channel_ = reinterpret_cast<workers::Channel*>(theirs_.data());
    reads_.Attach(link_);
    answered_ = 0;
    broken_ = false;
  }

  void Write(size_t where, uint64_t number) {
    std::memcpy(theirs_.data() + where % (kAllBytes - sizeof(number)), &number, sizeof(number));
  }

  // Reads and sends on this thread, like a reader thread.
  void Give(uint64_t sample) {
    if (broken_ || given_.size() + 1 >= workers::kRingCapacity) return;
    const workers::WorkItem item = {
        .id = ++last_id_, .dataset = &Dataset(), .sample = sample % 1000};
    given_.insert(item.id);
    reads_.Expect(item);
    reads_.ReadAside(item);
    link_->WakeWorker();
  }

  // Pushes a completion into the ring, like a worker, whether or not that request exists.
  void Answer(uint64_t sequence, uint64_t number) {
    answered_ = sequence;
    auto& ring = channel_->completions;
    const uint64_t at = ring.pushed.load();
    ring.entries[at % workers::kRingCapacity] = {
        .sequence = sequence,
        .fault = static_cast<base::Fault>(number % 64 < 48 ? 0 : number % 48),
        .decode_us = static_cast<uint32_t>(number),
        .ended_ns = number};
    ring.pushed.store(at + 1);
    channel_->started.store(sequence);
  }

  void Note(const std::vector<workers::Outcome>& outcomes) {
    for (const workers::Outcome& outcome : outcomes) {
      PENSTOCK_CHECK(given_.erase(outcome.id) == 1);
      PENSTOCK_CHECK(outcome.times.ended >= outcome.times.read_end);
      PENSTOCK_CHECK(outcome.times.decode >= base::Duration::zero());
    }
  }

  void Collect() {
    std::vector<workers::Outcome> outcomes;
    broken_ |= !reads_.Collect(base::Now(), outcomes);
    Note(outcomes);
    if (const auto oldest = reads_.OldestAtWorker()) PENSTOCK_CHECK(oldest->dataset == &Dataset());
    (void)link_->ready();
    (void)link_->busy_ns();
    if (broken_) Replace();
  }

  // Like the supervisor, replaces a worker that broke its channel.
  void Replace() {
    std::vector<workers::Outcome> outcomes;
    reads_.Detach(
        {.id = 0, .kind = workers::OutcomeKind::kStrike, .fault = base::Fault::kNone, .status = {}},
        outcomes);
    reads_.Collect(base::Now(), outcomes);
    Note(outcomes);
    Attach();
  }

  const posix::Fd wake_;
  workers::QueueReads reads_;
  std::shared_ptr<workers::SupervisorEndpoint> link_;
  posix::Mapping theirs_;
  workers::Channel* channel_ = nullptr;
  std::set<uint64_t> given_;
  uint64_t last_id_ = 0, answered_ = 0;
  bool broken_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Queue queue;
  for (size_t at = 0; at + kStepBytes <= size && at < 300 * kStepBytes; at += kStepBytes)
    queue.Step({data + at, kStepBytes});
  queue.End();
  return 0;
}
