#include "common/posix/gather.h"

#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "common/base/check.h"
#include "common/posix/stream.h"

namespace penstock::posix {
namespace {

// Where this thread resumes if a page cannot be read; null unless it is gathering.
thread_local sigjmp_buf* volatile resume = nullptr;

struct sigaction before;

// Jumps only for a fault that this thread's own gather raised (si_code > 0: not sent by a process).
// Nothing between the fault and IsReadable holds a lock or has a destructor, so the jump is safe.
void OnBusError(int signal, siginfo_t* info, void* context) {
  if (resume != nullptr && info->si_code > 0) siglongjmp(*resume, 1);
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  ::sigaction(signal, &before, nullptr);
  ::raise(signal);  // delivered once we return
}

void HandleBusErrors() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = OnBusError;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;  // no mask to restore after the jump
    sigemptyset(&ours.sa_mask);
    PENSTOCK_CHECK(::sigaction(SIGBUS, &ours, &before) == 0);
  });
}

// Contiguous copies of at least this many bytes bypass the caches (stream.h). The caller may want
// to look at smaller ones while they are still in a cache.
constexpr size_t kMuch = 256 * 1024;
// The largest gap between sources across which the processor still prefetches.
constexpr ptrdiff_t kNear = 4096;

// Copies consecutive rows at once, because many small copies cost more.
void CopyRows(const Gather& what, std::byte* into) {
  const size_t row_bytes = what.row_bytes, count = what.rows.size();
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && what.rows[end] == what.rows[end - 1] + 1) ++end;
    const std::byte* const from = what.from + what.rows[begin] * row_bytes;
    const size_t bytes = (end - begin) * row_bytes;
    if (bytes < kMuch) {
      std::memcpy(into + begin * row_bytes, from, bytes);
    } else {
      StreamingCopy stream(into + begin * row_bytes);
      stream.Add(from, bytes);
      stream.End();
    }
    begin = end;
  }
}

bool Follows(const Piece& next, const Piece& piece) {
  const ptrdiff_t gap = next.from - (piece.from + piece.bytes);
  return next.into == piece.into + piece.bytes && gap > -kNear && gap < kNear;
}

// How many leading pieces have contiguous destinations and nearly contiguous sources. Windows over
// tokens, for example, begin where the previous one ended, or a little earlier.
size_t Together(std::span<const Piece> pieces) {
  size_t count = 1;
  while (count < pieces.size() && Follows(pieces[count], pieces[count - 1])) ++count;
  return count;
}

size_t BytesOf(std::span<const Piece> pieces) {
  size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

void CopyPieces(std::span<const Piece> pieces) {
  while (!pieces.empty()) {
    const std::span<const Piece> together = pieces.first(Together(pieces));
    if (BytesOf(together) < kMuch) {
      for (const Piece& piece : together) std::memcpy(piece.into, piece.from, piece.bytes);
    } else {
      StreamingCopy stream(together.front().into);
      for (const Piece& piece : together) stream.Add(piece.from, piece.bytes);
      stream.End();
    }
    pieces = pieces.subspan(together.size());
  }
}

// Copies through a small buffer that stays in the L1 cache.
void ShowPieces(std::span<const Piece> pieces, const Look& look) {
  alignas(64) std::byte seen[kSeenAtOnce];
  while (!pieces.empty()) {
    const std::span<const Piece> together = pieces.first(Together(pieces));
    StreamingCopy stream(together.front().into);
    for (const Piece& piece : together) {
      for (size_t at = 0; at < piece.bytes; at += kSeenAtOnce) {
        const size_t bytes = std::min(kSeenAtOnce, piece.bytes - at);
        std::memcpy(seen, piece.from + at, bytes);
        look(std::span(seen, bytes), piece.into + at);
        stream.Add(seen, bytes);
      }
    }
    stream.End();
    pieces = pieces.subspan(together.size());
  }
}

// Runs `copy`, which must have nothing to clean up; false if it hit an unreadable page.
template <typename Copy>
bool IsReadable(const Copy& copy) {
  HandleBusErrors();
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    resume = nullptr;
    StreamingCopy::Settle();
    return false;
  }
  resume = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the reads between the two fences
  copy();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  resume = nullptr;
  StreamingCopy::Settle();
  return true;
}

}  // namespace

bool GatherRows(const Gather& what, std::byte* into) {
  return IsReadable([&] { CopyRows(what, into); });
}

bool GatherPieces(std::span<const Piece> pieces) {
  return IsReadable([&] { CopyPieces(pieces); });
}

bool GatherPieces(std::span<const Piece> pieces, const Look& look) {
  return IsReadable([&] { ShowPieces(pieces, look); });
}

}  // namespace penstock::posix
