// Stands between clients and gRPC: each client's connection ends here, and gRPC gets one end of a
// socket pair instead. Frames are passed on only as fast as gRPC answers them, so that its queues
// stay short (traffic.h); buffering is bounded (relayed.h). The other end of the pair has a name
// derived from the client, so that calls can be mapped to it (origin.h).
//
// **Ownership**: owned by the server; outlives gRPC's connections. Has one thread ("rpc-relay").
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/foreign_fd.h"
#include "server/rpc/controller.h"
#include "server/rpc/transport/cut_off.h"
#include "server/rpc/transport/relayed.h"

namespace penstock::rpc {

class Relay {
 public:
  struct Options {
    uint32_t message_bytes = 1 << 20;  // limit of gRPC for a message
    // Called for each message that gRPC will not take, by the relay's thread.
    std::function<void(const Origin&, const UntakenMessage&)> on_untaken = {};
  };
  static absl::StatusOr<std::unique_ptr<Relay>> Start(Options options);
  ~Relay();  // ends the thread and all connections

  // What a client sends: frames of HTTP/2, which are checked and paced, or bytes that only gRPC can
  // read, because TLS seals them.
  enum class Contents { kFrames, kSealed };

  // Returns the socket to give to gRPC instead of `client`. Drops `place` when the connection has
  // ended. Any thread.
  absl::StatusOr<posix::Fd> Take(posix::ForeignFd client, const Origin& origin,
                                 std::shared_ptr<const void> place,
                                 Contents contents = Contents::kFrames);

  // Connections that were cut off because of what they sent or did not read, for every reason. Any
  // thread.
  std::map<std::string, uint64_t> cut_off() const;

 private:
  struct Connection {
    Origin origin;
    std::shared_ptr<const void> place;
    std::unique_ptr<Relayed> relayed;
    uint32_t client_events = 0, grpc_events = 0;  // as registered with epoll
    std::optional<base::TimePoint> again = {};    // as in again_
  };
  struct Arrival {
    posix::ForeignFd client;
    posix::Fd grpc;
    Origin origin;
    std::shared_ptr<const void> place;
    Contents contents;
  };

  Relay(Options options, posix::Fd epoll, posix::Fd event)
      : options_(std::move(options)), epoll_(std::move(epoll)), event_(std::move(event)) {}
  void Run();
  void Turn(int wait_ms);
  void Serve(uint64_t token, uint32_t events);
  void TakeArrivals();
  void Add(Arrival arrival);
  std::shared_ptr<UserTraffic> TrafficOf(uint32_t user);
  int WaitMs() const;
  void MoveThoseDue();
  void Move(uint64_t id, bool hung_up);
  void SayUntaken(Connection& connection);
  void Settle(uint64_t id, Connection& connection);
  void End(uint64_t id, const absl::Status& why);
  void SayCutOff(const Origin& origin, const absl::Status& why);

  const Options options_;
  const posix::Fd epoll_, event_;
  std::atomic<bool> stopping_ = false;
  std::array<std::atomic<uint64_t>, kCutOffs.size()> cut_off_ = {};
  base::Mutex mutex_;
  std::vector<Arrival> arrivals_ PENSTOCK_GUARDED_BY(mutex_);

  // Used only by the thread.
  uint64_t last_id_ = 0;
  std::map<uint64_t, Connection> connections_;
  std::map<uint32_t, std::weak_ptr<UserTraffic>> users_;
  std::set<std::pair<base::TimePoint, uint64_t>> again_;  // deadlines and connections
  uint64_t unsaid_ = 0;                                   // cut off but not yet logged
  base::TimePoint said_{};

  std::thread thread_;
};

}  // namespace penstock::rpc
