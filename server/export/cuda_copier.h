// The copier of one GPU, by CUDA: a thread ("gpu0") that does what it is told in order, with a
// stream and a context of its own, and one ("gpu0 done") that sleeps until copies are complete. So
// a copy is always in the stream behind the one that runs, and no processor spins for it.
//
// Copies alone are put into the stream. The context is made when the first slab is asked for; where
// that fails, the slab's result says why, and the next slab tries again. Any other failure is one
// of the GPU for good.
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
  // Returns at once, whether or not there is such a GPU.
  static absl::StatusOr<std::unique_ptr<Copier>> Start(const cuda::Uuid& uuid);
  // Ends the threads: copies under way complete first, what was not begun is dropped.
  ~CudaCopier() override;

  void MakeSlab(const SlabOrder& order) override;
  void FreeSlab(uint32_t slab) override;
  void OpenSegment(uint32_t segment, posix::Fd memory, uint64_t bytes) override;
  void CloseSegment(uint32_t segment) override;
  void Copy(const CopyOrder& order) override;
  void Poison(uint32_t slab, uint64_t offset, uint64_t bytes) override;
  Done Collect() override;
  const posix::Fd& event() const override { return event_; }
  absl::Status status() const override;
  Facts facts() const override;

 private:
  using Job = std::function<absl::Status(CudaMemory&)>;
  // A copy in the stream, and the event behind it.
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
  void WaitUntilQuiet();
  void Fail(const absl::Status& why);

  const cuda::Uuid uuid_;
  const posix::Fd event_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<Job> jobs_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<UnderWay> under_way_ PENSTOCK_GUARDED_BY(mutex_);
  size_t unfinished_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // under way, or just being waited for
  Done done_ PENSTOCK_GUARDED_BY(mutex_);
  absl::Status status_ PENSTOCK_GUARDED_BY(mutex_);
  Facts facts_ PENSTOCK_GUARDED_BY(mutex_);
  int ordinal_ PENSTOCK_GUARDED_BY(mutex_) = -1;  // once the context is made
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool worked_ PENSTOCK_GUARDED_BY(mutex_) = false;  // nothing is put into the stream any more
  std::thread waiting_;
  std::thread working_;
};

}  // namespace penstock::exporting
