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

// Runs every thread that may run up to its next wait. False if there is none.
bool RunAll() {
  bool ran = false;
  for (uint32_t i = 0; i < running->threads.size(); ++i) {
    if (running->threads[i].wait != Wait::kNone) continue;
    running->now = i;
    threadIdx.x = i;
    PENSTOCK_CHECK(swapcontext(&running->scheduler, &running->threads[i].context) == 0);
    ran = true;
  }
  return ran;
}

bool AllWait(uint32_t first, uint32_t end, Wait wait) {
  for (uint32_t i = first; i < end; ++i) {
    if (running->threads[i].wait != wait) return false;
  }
  return true;
}

// Releases the threads of every barrier that is complete. False if all threads are done.
bool ReleaseBarriers() {
  const auto count = static_cast<uint32_t>(running->threads.size());
  if (AllWait(0, count, Wait::kDone)) return false;
  bool released = AllWait(0, count, Wait::kBlock);
  if (released) {
    for (Thread& thread : running->threads) thread.wait = Wait::kNone;
    return true;
  }
  for (uint32_t warp = 0; warp < count; warp += kWarpThreads) {
    if (!AllWait(warp, warp + kWarpThreads, Wait::kWarp)) continue;
    for (uint32_t i = warp; i < warp + kWarpThreads; ++i) running->threads[i].wait = Wait::kNone;
    released = true;
  }
  PENSTOCK_CHECK(released);  // else the kernel's threads wait for each other forever
  return true;
}

void RunBlock() {
  for (Thread& thread : running->threads) Start(thread);
  do {
    while (RunAll()) {
    }
  } while (ReleaseBarriers());
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
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) RunBlock();
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
