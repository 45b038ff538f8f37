// Lets hosts and Python workers, the makers of Python datasets' batches, from the doorway to the
// engine. Whether a session's trainer forked them is for the engine to say: it knows the tokens,
// and closes the connections of those that it does not want.
//
// **Thread safety**: the doorway's thread. Never blocks.
#pragma once

#include "common/base/status.h"
#include "server/doorway/doorway.h"
#include "server/feed/engine/runner.h"

namespace penstock::app {

class MakersDoor {
 public:
  // **Requires**: the runner outlives it.
  MakersDoor(bool private_daemon, feed::Runner& runner)
      : private_daemon_(private_daemon), runner_(runner) {}

  // **Errors**: FailedPrecondition unless the daemon is a private one.
  absl::Status MayEnter(const doorway::Peer& peer) const;
  // **Requires**: the peer is not a client.
  void OnArrived(const doorway::Peer& peer);

 private:
  const bool private_daemon_;
  feed::Runner& runner_;
};

}  // namespace penstock::app
