// Connections from other programs, closed without waiting.
//
// A peer can pass a descriptor of a TCP socket that takes its time when it is closed (SO_LINGER),
// and keep none itself. The last one is then in a message in our socket's queue, and whoever drops
// the message waits for as long as the peer chose. A signal ends such a wait.
#pragma once

#include <memory>

#include "common/posix/fd.h"

namespace penstock::posix {

// While one exists, its thread does not wait for what it closes: neither by close(2), nor by
// receiving a message without its descriptors. Each file costs some 50 µs at most. Does nothing if
// the system has no timer left (`ulimit -i`). A file that was received and has a descriptor of our
// own is not covered: FUSE waits when that is closed, and heeds no signal.
//
// **Thread safety**: each belongs to one thread; they do not nest.
class LingerLimit {
 public:
  LingerLimit();
  ~LingerLimit();
  LingerLimit(const LingerLimit&) = delete;
  LingerLimit& operator=(const LingerLimit&) = delete;
};

struct CloseForeign {
  void operator()(const Fd* fd) const;  // under a LingerLimit
};
// A connected socket whose peer is another program.
using ForeignFd = std::unique_ptr<const Fd, CloseForeign>;

inline ForeignFd MakeForeign(Fd fd) { return ForeignFd(new Fd(std::move(fd))); }

}  // namespace penstock::posix
