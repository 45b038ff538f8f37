#include "tests/support/gpu_decode/emulated_cuda.h"

#include <ucontext.h>

#include <memory>
#include <vector>

#include "common/base/check.h"

namespace penstock::testing {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr uint32_t kWarpThreads = 32;

enum class Wait { kNone, kBlock, kWarp, kDone };

struct Thread {
  ucontext_t context = {};
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
  Wait wait = Wait::kNone;
  uint32_t given = 0;  // to the warp's shuffle
};

struct Block {
  ucontext_t scheduler = {};
  std::vector<Thread> threads;
  uint32_t now = 0;
  const std::function<void()>* kernel = nullptr;
};

Block* running = nullptr;

void Enter() {
  (*running->kernel)();
  running->threads[running->now].wait = Wait::kDone;
}

void WaitFor(Wait wait) {
  Thread& thread = running->threads[running->now];
  thread.wait = wait;
  PENSTOCK_CHECK(swapcontext(&thread.context, &running->scheduler) == 0);
}

void Start(Thread& thread) {
  PENSTOCK_CHECK(getcontext(&thread.context) == 0);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = &running->scheduler;
  thread.wait = Wait::kNone;
  makecontext(&thread.context, Enter, 0);
}

void Resume(uint32_t thread) {
  running->now = thread;
  threadIdx.x = thread;
  PENSTOCK_CHECK(swapcontext(&running->scheduler, &running->threads[thread].context) == 0);
}

bool AllWait(uint32_t first, uint32_t end, Wait wait) {
  for (uint32_t i = first; i < end; ++i) {
    if (running->threads[i].wait != wait) return false;
  }
  return true;
}

void Release(uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; ++i) running->threads[i].wait = Wait::kNone;
}

// Runs a warp up to its next barrier of the block, or its end.
void RunWarp(uint32_t first) {
  const uint32_t end = first + kWarpThreads;
  while (true) {
    for (uint32_t i = first; i < end; ++i) {
      if (running->threads[i].wait == Wait::kNone) Resume(i);
    }
    if (!AllWait(first, end, Wait::kWarp)) return;
    Release(first, end);
  }
}

// One warp runs as far as it can before the next one begins, in one order and then the other, so
// that a missing barrier shows: whatever a warp needs of another is missing or already overwritten.
void RunBlock(bool forwards) {
  const auto count = static_cast<uint32_t>(running->threads.size());
  for (Thread& thread : running->threads) Start(thread);
  while (!AllWait(0, count, Wait::kDone)) {
    for (uint32_t warp = 0; warp < count; warp += kWarpThreads) {
      RunWarp(forwards ? warp : count - kWarpThreads - warp);
    }
    if (AllWait(0, count, Wait::kDone)) return;
    // Else threads wait for others that have ended or wait elsewhere, which would hang a GPU.
    PENSTOCK_CHECK(AllWait(0, count, Wait::kBlock));
    Release(0, count);
  }
}

}  // namespace

void RunEmulated(EmulatedIndex grid, uint32_t threads, const std::function<void()>& kernel) {
  PENSTOCK_CHECK(threads % kWarpThreads == 0 && running == nullptr);
  Block block;
  block.threads = std::vector<Thread>(threads);
  block.kernel = &kernel;
  running = &block;
  gridDim = grid;
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
      RunBlock((blockIdx.x + blockIdx.y) % 2 == 0);
    }
  }
  running = nullptr;
}

}  // namespace penstock::testing

void __syncthreads() { penstock::testing::WaitFor(penstock::testing::Wait::kBlock); }

uint32_t __shfl_down_sync(uint32_t, uint32_t value, uint32_t distance) {
  using namespace penstock::testing;
  std::vector<Thread>& threads = running->threads;
  const uint32_t me = running->now;
  threads[me].given = value;
  WaitFor(Wait::kWarp);
  const uint32_t from = me % kWarpThreads + distance < kWarpThreads ? me + distance : me;
  const uint32_t got = threads[from].given;
  WaitFor(Wait::kWarp);  // so that none gives its next value before all have read
  return got;
}
