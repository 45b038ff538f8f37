// Connections from other programs, closed without waiting.
//
// A peer can pass us a descriptor of a TCP socket whose last close waits for a time that the peer
// chose (SO_LINGER), and close its own. The last descriptor is then in a message in our socket's
// queue, and the thread that drops the message waits. A signal ends such a wait.
#pragma once

#include <memory>

#include "common/posix/fd.h"

namespace penstock::posix {

// While one exists, its thread is not held up by files that it closes, either with close(2) or by
// receiving a message without taking its descriptors. Each file takes about 50 µs at most. Does
// nothing if the system has no timer left (`ulimit -i`).
//
// Does not help with a FUSE file whose descriptor we have received: closing that waits for the FUSE
// server, and no signal ends the wait.
//
// **Thread safety**: used by the thread that made it. Do not nest them.
class LingerLimit {
 public:
  LingerLimit();
  ~LingerLimit();
  LingerLimit(const LingerLimit&) = delete;
  LingerLimit& operator=(const LingerLimit&) = delete;
};

struct CloseForeign {
  void operator()(const Fd* fd) const;  // closes it under a LingerLimit
};
// A connected socket whose peer is another program.
using ForeignFd = std::unique_ptr<const Fd, CloseForeign>;

inline ForeignFd MakeForeign(Fd fd) { return ForeignFd(new Fd(std::move(fd))); }

}  // namespace penstock::posix
