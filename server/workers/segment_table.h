// The segments that a worker was given, mapped: it may have few descriptors and keeps none of them.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "server/workers/channel.h"

namespace penstock::workers {

class SegmentTable {
 public:
  explicit SegmentTable(posix::Fd socket) : socket_(std::move(socket)) {}

  const posix::Fd& socket() const { return socket_; }

  // Takes all messages that there are. Unavailable: the daemon is gone.
  absl::Status Receive();

  // Where the request's row is. A segment that is not known yet is looked for in the socket.
  absl::StatusOr<std::span<std::byte>> Row(const DecodeRequest& request);

 private:
  absl::Status Take(std::span<const std::byte> bytes, std::span<posix::Fd> fds);

  posix::Fd socket_;
  std::map<uint32_t, posix::Mapping> segments_;
};

}  // namespace penstock::workers
