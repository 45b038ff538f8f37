// Closes files that clients sent, in threads of their own, because the last close of a file on a
// FUSE server waits for that server, and no signal ends the wait. Only needed on kernels without
// SO_PEERPIDFD: there a client must send a pidfd, but may send any other file.
//
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/posix/fd.h"
#include "common/posix/loose_threads.h"

namespace penstock::doorway {

class Closers {
 public:
  using Files = std::vector<posix::Fd>;

  // `close` closes the files. Runs on threads of its own.
  explicit Closers(std::function<void(Files)> close = CloseAll) : close_(std::move(close)) {}

  // Whether descriptors may be received from this user: false while as many of its threads are
  // still closing files as one user may have.
  bool MayReceive(uint32_t user);
  // Never waits.
  void Close(uint32_t user, Files files);

 private:
  static void CloseAll(Files files);

  const std::function<void(Files)> close_;
  std::map<uint32_t, posix::LooseThreads> threads_;  // threads that are still closing, by user
};

}  // namespace penstock::doorway
