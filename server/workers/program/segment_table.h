// The segments that a worker has received, mapped into memory. It closes their descriptors, because
// a worker may have only a few open.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "server/workers/queue/channel.h"

namespace penstock::workers {

class SegmentTable {
 public:
  explicit SegmentTable(posix::Fd socket) : socket_(std::move(socket)) {}

  const posix::Fd& socket() const { return socket_; }

  // Processes all pending messages. **Errors**: Unavailable if the daemon is gone.
  absl::Status Receive();

  // Returns the segment's memory. If it is unknown, checks the socket for it first.
  absl::StatusOr<std::span<std::byte>> Find(uint32_t segment);

 private:
  absl::Status Take(std::span<const std::byte> bytes, std::span<posix::Fd> fds);

  posix::Fd socket_;
  std::map<uint32_t, posix::Mapping> segments_;
};

}  // namespace penstock::workers
