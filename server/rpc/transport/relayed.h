// One client's connection and the gRPC connection that stands for it. Passes bytes both ways and
// buffers at most a few KiB. Data from gRPC has priority: a client that doesn't read is not read
// from.
// **Ownership**: owned by the relay. **Thread safety**: only its thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/foreign_fd.h"
#include "server/rpc/transport/traffic.h"

namespace penstock::rpc {

class Relayed {
 public:
  // `user`: null if the bytes are sealed; then all of them may pass.
  Relayed(posix::ForeignFd client, posix::Fd grpc, const TrafficLimits& limits,
          std::shared_ptr<UserTraffic> user)
      : client_(std::move(client)), grpc_(std::move(grpc)) {
    if (user != nullptr) traffic_.emplace(limits, std::move(user));
  }

  const posix::Fd& client() const { return *client_; }
  const posix::Fd& grpc() const { return grpc_; }

  // Passes on what it can now. `hung_up`: the client has disconnected. **Errors**: the connection
  // is over: Cancelled if it ended normally, other errors because of what the client did.
  absl::Status Move(base::TimePoint now, bool hung_up);

  // Messages that were passed on since the last call although gRPC will not take them.
  std::vector<UntakenMessage> TakeUntaken() { return std::exchange(untaken_, {}); }

  // The epoll events to wait for. While gRPC's are 0, don't watch gRPC's socket: it may be closed,
  // which can't be handled before the client has read the remaining data.
  uint32_t ClientEvents() const;
  uint32_t GrpcEvents() const;
  // When to call Move even without an event.
  std::optional<base::TimePoint> again() const { return again_; }

 private:
  absl::Status MoveDown(base::TimePoint now);
  absl::Status MoveUp(base::TimePoint now);
  absl::StatusOr<Traffic::Allowed> Judge(base::TimePoint now);
  absl::Status ReadClient();
  absl::Status WriteGrpc();

  const posix::ForeignFd client_;
  const posix::Fd grpc_;
  std::optional<Traffic> traffic_;  // unset: sealed
  std::string up_;                  // data from the client
  size_t passed_ = 0;               // how much of it may be passed on
  std::vector<UntakenMessage> untaken_;
  std::string down_;  // data from gRPC that the client hasn't taken
  bool client_ended_ = false, grpc_ended_ = false, end_sent_ = false;
  std::optional<base::TimePoint> unread_since_;
  std::optional<base::TimePoint> again_;
};

}  // namespace penstock::rpc
