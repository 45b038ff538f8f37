// One client's connection and the one to gRPC that stands for it: bytes go both ways, at most a few
// KiB are in between. What gRPC says goes before what the client says: who does not read is not
// listened to. Owned by the relay; its thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/rpc/transport/traffic.h"

namespace penstock::rpc {

class Relayed {
 public:
  Relayed(posix::Fd client, posix::Fd grpc, std::shared_ptr<UserTraffic> user)
      : client_(std::move(client)),
        grpc_(std::move(grpc)),
        traffic_(TrafficLimits(), std::move(user)) {}

  const posix::Fd& client() const { return client_; }
  const posix::Fd& grpc() const { return grpc_; }

  // Moves what can be moved now. `hung_up`: the client is gone. An error: the connection is over;
  // Cancelled in the usual way, another because of what the client did.
  absl::Status Move(base::TimePoint now, bool hung_up);

  // For what to wait, as epoll's events. That of gRPC is not to be watched while it is 0: it may be
  // closed, which nobody can do anything about before the client has read what it said.
  uint32_t ClientEvents() const;
  uint32_t GrpcEvents() const;
  // When to move although nothing happened.
  std::optional<base::TimePoint> again() const { return again_; }

 private:
  absl::Status MoveDown(base::TimePoint now);
  absl::Status MoveUp(base::TimePoint now);
  absl::Status ReadClient();
  absl::Status WriteGrpc();

  const posix::Fd client_, grpc_;
  Traffic traffic_;
  std::string up_;     // from the client
  size_t passed_ = 0;  // of these, so many may go on
  std::string down_;   // from gRPC, and the client does not take it
  bool client_ended_ = false, grpc_ended_ = false, end_sent_ = false;
  std::optional<base::TimePoint> unread_since_;
  std::optional<base::TimePoint> again_;
};

}  // namespace penstock::rpc
