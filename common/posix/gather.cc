#include "common/posix/gather.h"

#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "common/base/check.h"

namespace penstock::posix {
namespace {

// Where this thread goes on when a page cannot be read; null: it is not gathering.
thread_local sigjmp_buf* volatile resume = nullptr;

struct sigaction before;

// A read of the thread's own making: nothing between it and GatherRows holds a lock or has a
// destructor, so that the jump leaves nothing behind. What somebody sent is not ours either.
void OnBusError(int signal, siginfo_t* info, void* context) {
  if (resume != nullptr && info->si_code > 0) siglongjmp(*resume, 1);
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  ::sigaction(signal, &before, nullptr);
  ::raise(signal);  // comes once we return
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

// Rows that lie one behind the other already are copied at once: many small copies cost more.
void CopyRows(const Gather& what, std::byte* into) {
  const size_t bytes = what.row_bytes, count = what.rows.size();
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && what.rows[end] == what.rows[end - 1] + 1) ++end;
    std::memcpy(into + begin * bytes, what.from + what.rows[begin] * bytes, (end - begin) * bytes);
    begin = end;
  }
}

// The same of pieces that lie together on both sides.
void CopyPieces(std::span<const Piece> pieces) {
  for (size_t begin = 0; begin < pieces.size();) {
    Piece piece = pieces[begin];
    size_t end = begin + 1;
    while (end < pieces.size() && pieces[end].from == piece.from + piece.bytes &&
           pieces[end].into == piece.into + piece.bytes)
      piece.bytes += pieces[end++].bytes;
    std::memcpy(piece.into, piece.from, piece.bytes);
    begin = end;
  }
}

// Whether `copy`, which has nothing to clean up, came to its end.
template <typename Copy>
bool IsReadable(const Copy& copy) {
  HandleBusErrors();
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    resume = nullptr;
    return false;
  }
  resume = &here;
  std::atomic_signal_fence(
      std::memory_order_seq_cst);  // no read before that, and none after the end
  copy();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  resume = nullptr;
  return true;
}

}  // namespace

bool GatherRows(const Gather& what, std::byte* into) {
  return IsReadable([&] { CopyRows(what, into); });
}

bool GatherPieces(std::span<const Piece> pieces) {
  return IsReadable([&] { CopyPieces(pieces); });
}

}  // namespace penstock::posix
