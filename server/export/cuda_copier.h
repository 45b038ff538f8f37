// The copier of one GPU, implemented with CUDA. One thread ("gpu0") runs jobs in order, with its
// own stream and context; a second ("gpu0 done") sleeps until copies are complete. So the next copy
// is always queued in the stream behind the running one, and no thread spins.
//
// Only copies are enqueued on the stream. The first request for a slab creates the context; if that
// fails, the slab's result says why, and the next request tries again. Any other failure means that
// the GPU is lost for good.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/cuda/device.h"
#include "common/cuda/stream.h"
#include "server/export/copier.h"
#include "server/export/cuda_memory.h"

namespace penstock::exporting {

class CudaCopier final : public Copier {
 public:
  // Returns at once, even if there is no such GPU.
  static absl::StatusOr<std::unique_ptr<Copier>> Start(const cuda::Uuid& uuid);
  // Ends the threads. Running copies complete; jobs not yet begun are dropped.
  ~CudaCopier() override;

  void MakeSlab(const SlabOrder& order) override;
  void FreeSlab(uint32_t slab) override;
  void OpenSegment(uint32_t segment, posix::Fd memory, uint64_t bytes) override;
  void CloseSegment(uint32_t segment) override;
  void Copy(const CopyOrder& order) override;
  void Pass(const PassOrder& order) override;
  void Poison(uint32_t slab, uint64_t offset, uint64_t bytes) override;
  Done Collect() override;
  const posix::Fd& event() const override { return event_; }
  absl::Status status() const override;
  CopierFacts facts() const override;

 private:
  using Job = std::function<absl::Status(CudaMemory&)>;
  // A copy in the stream, and the event recorded after it.
  struct UnderWay {
    uint64_t id = 0;
    cuda::Event event;
  };

  CudaCopier(const cuda::Uuid& uuid, posix::Fd event);
  void Enqueue(Job job);
  void Work();
  void AwaitCopies();
  void SlabDone(SlabResult result);
  SlabResult MakeSlabNow(CudaMemory& memory, const SlabOrder& order);
  absl::Status CopyNow(CudaMemory& memory, const CopyOrder& order);
  absl::Status PassNow(CudaMemory& memory, const PassOrder& order);
  absl::Status AwaitRoom();
  absl::Status CopyStarted(CudaMemory& memory, uint64_t id);
  void WaitUntilQuiet();
  void Fail(const absl::Status& why);

  const cuda::Uuid uuid_;
  const posix::Fd event_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<Job> jobs_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<UnderWay> under_way_ PENSTOCK_GUARDED_BY(mutex_);
  // copies under way, including the one AwaitCopies waits for
  size_t unfinished_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  Done done_ PENSTOCK_GUARDED_BY(mutex_);
  absl::Status status_ PENSTOCK_GUARDED_BY(mutex_);
  CopierFacts facts_ PENSTOCK_GUARDED_BY(mutex_);
  int ordinal_ PENSTOCK_GUARDED_BY(mutex_) = -1;  // set once the context exists
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool worked_ PENSTOCK_GUARDED_BY(mutex_) = false;  // nothing more is enqueued on the stream
  std::thread waiting_;
  std::thread working_;
};

}  // namespace penstock::exporting
