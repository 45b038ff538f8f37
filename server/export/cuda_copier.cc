#include "server/export/cuda_copier.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/cuda/range.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::exporting {
namespace {

// Enough that the copy engine never idles between two copies; few enough that a session's first
// batch does not wait long behind others'.
constexpr size_t kMaxUnderWay = 3;

void NameThread(const std::string& name) { pthread_setname_np(pthread_self(), name.c_str()); }

}  // namespace

absl::StatusOr<std::unique_ptr<Copier>> CudaCopier::Start(const cuda::Uuid& uuid) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd event, posix::MakeEvent());
  return std::unique_ptr<Copier>(new CudaCopier(uuid, std::move(event)));
}

CudaCopier::CudaCopier(const cuda::Uuid& uuid, posix::Fd event)
    : uuid_(uuid), event_(std::move(event)) {
  waiting_ = std::thread([this] { AwaitCopies(); });
  working_ = std::thread([this] { Work(); });
}

CudaCopier::~CudaCopier() {
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  changed_.NotifyAll();
  working_.join();
  waiting_.join();
}

// ---- The runner's side. ----

void CudaCopier::Enqueue(Job job) {
  {
    base::MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.NotifyAll();
}

void CudaCopier::MakeSlab(const SlabOrder& order) {
  Enqueue([this, order](CudaMemory& memory) {
    SlabResult result = MakeSlabNow(memory, order);
    const absl::Status lost = cuda::IsSticky(result.status) ? result.status : absl::OkStatus();
    SlabDone(std::move(result));
    return lost;
  });
}

void CudaCopier::FreeSlab(uint32_t slab) {
  Enqueue([this, slab](CudaMemory& memory) {
    WaitUntilQuiet();
    memory.FreeSlab(slab);
    PENSTOCK_FAILPOINT("gpu.slab_freed");
    return absl::OkStatus();
  });
}

void CudaCopier::OpenSegment(uint32_t segment, posix::Fd memory, uint64_t bytes) {
  // std::function copies the job: its copies share ownership of the descriptor.
  auto shared = std::make_shared<posix::Fd>(std::move(memory));
  Enqueue(
      [segment, shared, bytes](CudaMemory& to) { return to.OpenSegment(segment, *shared, bytes); });
}

void CudaCopier::CloseSegment(uint32_t segment) {
  Enqueue([this, segment](CudaMemory& memory) {
    WaitUntilQuiet();
    memory.CloseSegment(segment);
    PENSTOCK_FAILPOINT("gpu.segment_closed");
    return absl::OkStatus();
  });
}

void CudaCopier::Copy(const CopyOrder& order) {
  Enqueue([this, order](CudaMemory& memory) { return CopyNow(memory, order); });
}

void CudaCopier::Pass(const PassOrder& order) {
  Enqueue([this, order](CudaMemory& memory) { return PassNow(memory, order); });
}

void CudaCopier::Poison(uint32_t slab, uint64_t offset, uint64_t bytes) {
  Enqueue([=](CudaMemory& memory) { return memory.Poison(slab, offset, bytes); });
}

Copier::Done CudaCopier::Collect() {
  base::MutexLock lock(mutex_);
  return std::exchange(done_, {});
}

absl::Status CudaCopier::status() const {
  base::MutexLock lock(mutex_);
  return status_;
}

Copier::CopierFacts CudaCopier::facts() const {
  base::MutexLock lock(mutex_);
  return facts_;
}

// ---- The thread that enqueues copies. ----

void CudaCopier::Work() {
  NameThread("gpu");
  CudaMemory memory(uuid_);
  for (;;) {
    Job job;
    {
      base::MutexLock lock(mutex_);
      while (jobs_.empty() && !stopping_) changed_.Wait(mutex_);
      if (stopping_) break;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (const absl::Status status = job(memory); !status.ok()) Fail(status);
  }
  WaitUntilQuiet();
  base::MutexLock lock(mutex_);
  worked_ = true;
  changed_.NotifyAll();
}

SlabResult CudaCopier::MakeSlabNow(CudaMemory& memory, const SlabOrder& order) {
  const bool fresh = !memory.begun();
  absl::Status status = memory.Begin();
  if (status.ok() && fresh) {
    NameThread(absl::StrCat("gpu", memory.device().ordinal));
    PENSTOCK_LOG(kInfo, "gpu", {"uuid", uuid_.ToString()}, {"name", memory.device().name},
                 {"context_bytes", memory.context_bytes()});
    std::vector<cuda::Uuid> linked = cuda::LinkedGpus(memory.device().ordinal);
    base::MutexLock lock(mutex_);
    facts_ = {.name = memory.device().name,
              .context_bytes = memory.context_bytes(),
              .linked = std::move(linked)};
    ordinal_ = memory.device().ordinal;
  }
  if (status.ok()) {
    absl::StatusOr<SlabResult> made = memory.MakeSlab(order);
    if (made.ok()) return *std::move(made);
    status = made.status();
  }
  SlabResult result;
  result.slab = order.slab;
  result.status = status;
  return result;
}

void CudaCopier::SlabDone(SlabResult result) {
  {
    base::MutexLock lock(mutex_);
    done_.slabs.push_back(std::move(result));
  }
  posix::NotifyEvent(event_);
}

absl::Status CudaCopier::CopyNow(CudaMemory& memory, const CopyOrder& order) {
  PENSTOCK_RETURN_IF_ERROR(AwaitRoom());
  const cuda::TraceRange range("copy", order.epoch, order.first);
  PENSTOCK_RETURN_IF_ERROR(memory.StartCopy(order));
  return CopyStarted(memory, order.id);
}

// That a GPU cannot read another's memory is no failure of either: the batch then comes from the
// host.
absl::Status CudaCopier::PassNow(CudaMemory& memory, const PassOrder& order) {
  PENSTOCK_RETURN_IF_ERROR(AwaitRoom());
  const cuda::TraceRange range("pass", order.epoch, order.first);
  if (const absl::Status status = memory.StartPass(order); !status.ok()) {
    if (cuda::IsSticky(status)) return status;
    PENSTOCK_LOG(kWarning, "batch_not_passed", {"gpu", uuid_.ToString()},
                 {"reason", status.message()});
    base::MutexLock lock(mutex_);
    done_.not_passed.push_back(order.id);
    posix::NotifyEvent(event_);
    return absl::OkStatus();
  }
  return CopyStarted(memory, order.id);
}

absl::Status CudaCopier::AwaitRoom() {
  base::MutexLock lock(mutex_);
  while (unfinished_ >= kMaxUnderWay && status_.ok()) changed_.Wait(mutex_);
  return status_;
}

absl::Status CudaCopier::CopyStarted(CudaMemory& memory, uint64_t id) {
  PENSTOCK_ASSIGN_OR_RETURN(cuda::Event event, cuda::Event::Make());
  PENSTOCK_RETURN_IF_ERROR(event.Record(memory.stream()));
  PENSTOCK_FAILPOINT("gpu.copy_started");
  {
    base::MutexLock lock(mutex_);
    under_way_.push_back({.id = id, .event = std::move(event)});
    ++unfinished_;
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

void CudaCopier::WaitUntilQuiet() {
  base::MutexLock lock(mutex_);
  while (unfinished_ > 0 && status_.ok()) changed_.Wait(mutex_);
}

// Keeps the first reason. No more jobs run: the daemon shuts down.
void CudaCopier::Fail(const absl::Status& why) {
  {
    base::MutexLock lock(mutex_);
    if (status_.ok()) status_ = why;
    jobs_.clear();
  }
  changed_.NotifyAll();
  posix::NotifyEvent(event_);
}

// ---- The thread that waits for copies. ----

void CudaCopier::AwaitCopies() {
  NameThread("gpu done");
  std::optional<cuda::DeviceScope> scope;
  for (;;) {
    UnderWay oldest;
    int ordinal = -1;
    {
      base::MutexLock lock(mutex_);
      while (under_way_.empty() && !worked_) changed_.Wait(mutex_);
      if (under_way_.empty()) return;
      oldest = std::move(under_way_.front());
      under_way_.pop_front();
      ordinal = ordinal_;
    }
    if (!scope) scope.emplace(ordinal);
    const absl::Status status = oldest.event.Wait();
    PENSTOCK_FAILPOINT("gpu.copy_done");
    if (!status.ok()) Fail(status);
    {
      base::MutexLock lock(mutex_);
      --unfinished_;
      if (status.ok()) done_.copies.push_back(oldest.id);
    }
    changed_.NotifyAll();
    posix::NotifyEvent(event_);
  }
}

}  // namespace penstock::exporting
