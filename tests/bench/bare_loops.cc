#include "tests/bench/bare_loops.h"

#include <utility>

#include "common/base/check.h"
#include "common/posix/futex.h"
#include "server/decode/decoder.h"
#include "tests/bench/harness/interrupt.h"
#include "tests/bench/harness/measure.h"

namespace penstock::bench {
namespace {

constexpr base::Duration kSlice = std::chrono::milliseconds(100);
constexpr double kLongestSeconds = 120;

}  // namespace

absl::StatusOr<BareLoops> BareLoops::Start(const Work& work, uint32_t count) {
  PENSTOCK_CHECK(!work.files.empty());
  PENSTOCK_ASSIGN_OR_RETURN(Shared<Board> board, Shared<Board>::Make());
  std::vector<ForkedChild> children;
  for (uint32_t number = 0; number < count; ++number) {
    PENSTOCK_ASSIGN_OR_RETURN(ForkedChild child,
                              ForkedChild::Start([&] { return Serve(work, *board, number); }));
    children.push_back(std::move(child));
  }
  return BareLoops(std::move(board), std::move(children));
}

BareLoops::BareLoops(Shared<Board> board, std::vector<ForkedChild> children)
    : board_(std::move(board)), children_(std::move(children)) {}

// Runs until it is killed.
int BareLoops::Serve(const Work& work, Board& board, uint32_t number) {
  decode::Decoder decoder((decode::SampleLimits()));
  std::vector<std::byte> row(decode::RowBytes(work.spec));
  for (uint32_t seen = 0;;) {
    const uint32_t order = board.order.load(std::memory_order_acquire);
    if (order == seen) {
      posix::FutexWait(board.order, seen, kSlice);
      continue;
    }
    seen = order;
    if (number >= board.processes) continue;
    const Range range = board.range;
    for (;;) {
      const uint64_t place = board.next.fetch_add(1, std::memory_order_relaxed);
      if (place >= range.count) break;
      const uint64_t index = range.first + place;
      const uint64_t sample = index % work.files.size();
      decoder.DecodeRow(
          work.files[sample], work.spec,
          {.seed = work.seed, .epoch = range.epoch + index / work.files.size(), .sample = sample},
          row);
    }
    board.done.fetch_add(1, std::memory_order_release);
    posix::FutexWake(board.done);
  }
}

absl::StatusOr<double> BareLoops::Run(const Range& range, uint32_t processes) {
  PENSTOCK_CHECK(processes >= 1 && processes <= children_.size());
  Board& board = *board_;
  board.range = range;
  board.processes = processes;
  board.next.store(0, std::memory_order_relaxed);
  board.done.store(0, std::memory_order_relaxed);
  const Stopwatch watch(Time::kWall);
  board.order.fetch_add(1, std::memory_order_release);
  posix::FutexWake(board.order);
  for (;;) {
    const uint32_t done = board.done.load(std::memory_order_acquire);
    if (done == processes) break;
    posix::FutexWait(board.done, done, kSlice);
    PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
    for (ForkedChild& child : children_) PENSTOCK_RETURN_IF_ERROR(child.Check());
    if (watch.Seconds() > kLongestSeconds) {
      return absl::DeadlineExceededError(
          absl::StrCat(range.count, " samples were not decoded in two minutes"));
    }
  }
  return static_cast<double>(range.count) / watch.Seconds();
}

}  // namespace penstock::bench
