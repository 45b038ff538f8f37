#include "server/workers/queue/worker_queue.h"

#include <pthread.h>

#include <utility>

#include "common/base/check.h"
#include "server/source/core/retry_policy.h"

namespace penstock::workers {
namespace {

constexpr base::Duration kLongRead = std::chrono::seconds(1);

void NameThread(const std::string& name) { ::pthread_setname_np(::pthread_self(), name.c_str()); }

}  // namespace

WorkerQueue::WorkerQueue(const Options& options, const posix::Fd& wake, posix::LooseThreads& loose)
    : options_(options), loose_(loose), reads_(std::make_shared<QueueReads>(options, wake)) {
  std::optional<posix::LooseThreads::Thread> reader = StartReader(0);
  if (reader) reader_ = *std::move(reader);
}

WorkerQueue::~WorkerQueue() {
  reads_->Stop();
  if (has_reader()) reader_.thread.join();
}

std::optional<posix::LooseThreads::Thread> WorkerQueue::StartReader(uint64_t place) const {
  return posix::LooseThreads::Start([reads = reads_, place, number = options_.number] {
    NameThread(absl::StrCat("reader-", number));
    reads->Serve(place);
  });
}

void WorkerQueue::Attach(std::shared_ptr<SupervisorEndpoint> endpoint) {
  PENSTOCK_CHECK(endpoint_ == nullptr);
  endpoint_ = std::move(endpoint);
  reads_->Attach(endpoint_);
}

void WorkerQueue::Give(const WorkItem& item) {
  PENSTOCK_CHECK(endpoint_ != nullptr && outstanding() < kRingCapacity);
  ++held_;
  reads_->Give(item);
}

bool WorkerQueue::GiveAside(const WorkItem& item) {
  PENSTOCK_CHECK(endpoint_ != nullptr);
  if (!loose_.CanStart()) return false;
  reads_->Expect(item);
  auto thread = posix::LooseThreads::Start([reads = reads_, item, number = options_.number] {
    NameThread(absl::StrCat("aside-", number));
    reads->ReadAside(item);
  });
  if (!thread) {
    reads_->Forget(item);
    return false;
  }
  loose_.Leave(*std::move(thread));
  ++held_;
  aside_.insert(item.id);
  return true;
}

bool WorkerQueue::Collect(base::TimePoint now, std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  const bool sound = reads_->Collect(now, outcomes);
  Forget(std::span(outcomes).subspan(before));
  return sound;
}

void WorkerQueue::Forget(std::span<const Outcome> ended) {
  held_ -= ended.size();
  for (const Outcome& each : ended) aside_.erase(each.id);
}

void WorkerQueue::AnnounceSleep() {
  if (endpoint_ != nullptr) endpoint_->AnnounceSleep();
}

void WorkerQueue::Detach(InHandEnds ends, std::vector<Outcome>& outcomes) {
  PENSTOCK_CHECK(endpoint_ != nullptr);
  const size_t before = outcomes.size();
  reads_->Detach({.id = 0, .kind = ends.kind, .fault = ends.fault, .status = {}}, outcomes);
  endpoint_ = nullptr;
  Forget(std::span(outcomes).subspan(before));
}

std::vector<WorkerQueue::OverdueItem> WorkerQueue::TakeOverdue(base::TimePoint now) {
  if (loose_.CanStart() && reads_->IsReaderOverdue(now, options_.patience)) LeaveReaderBehind();
  return reads_->TakeOverdue(now, options_.patience);
}

// Starts the next reader before this one is replaced, so that there is always one.
void WorkerQueue::LeaveReaderBehind() {
  std::optional<posix::LooseThreads::Thread> next = StartReader(place_ + 1);
  if (!next) return;
  for (const uint64_t item : reads_->GiveInboxTo(++place_)) aside_.insert(item);
  loose_.Leave(std::exchange(reader_, *std::move(next)));
}

std::optional<StalledRead> WorkerQueue::Stalled(base::TimePoint now) const {
  const std::optional<QueueReads::Longest> longest = reads_->LongestRead();
  if (!longest || now - longest->since <= kLongRead) return std::nullopt;
  return StalledRead{
      .dataset = longest->dataset,
      .since = longest->since,
      .reason = absl::StrCat(longest->dataset->path(longest->sample), ": the read is blocked")};
}

}  // namespace penstock::workers
