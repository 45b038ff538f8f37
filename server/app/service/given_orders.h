// Orders of samples that clients gave, kept while sessions need them. They are counted, limited,
// and dropped a while after their last use; or at once, if all processes that sent one are gone and
// no session ever used it. Each user has its own orders, and at most half of the memory that other
// users leave.
// **Thread safety**: any thread. Never blocks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/shares.h"
#include "common/base/status.h"
#include "server/plan/given_order.h"
#include "server/rpc/controller.h"

namespace penstock::app {

class GivenOrders {
 public:
  struct Options {
    uint64_t max_samples = 100'000'000;  // per order
    uint32_t max_per_user = 256;         // stored and being received
    uint64_t max_bytes = 1u << 30;       // over all orders
    std::optional<uint32_t> owner = {};  // a user without a per-user limit
    base::Duration keep_unused = std::chrono::seconds(60);
  };
  explicit GivenOrders(const Options& options) : options_(options), bytes_(options.max_bytes) {}

  struct Sender {
    uint32_t user = 0;
    uint64_t peer = 0;
  };
  // Begins an order with this many samples. **Requires**: the result does not outlive this object.
  // **Errors**: ResourceExhausted names the limit.
  absl::StatusOr<std::unique_ptr<rpc::IncomingOrder>> Receive(const Sender& sender,
                                                              uint64_t length);

  // Gets an order for a session. **Errors**: NotFound if this user sent no such order, or it was
  // dropped.
  absl::StatusOr<std::shared_ptr<const plan::GivenOrder>> Find(uint32_t user, uint64_t name);

  // The peer will open no more sessions: drops orders that only it sent and no session used.
  void PeerLeft(uint64_t peer);
  // Drops orders that have been unused for long enough. Call it several times a minute.
  void Tick(base::TimePoint now);

  struct OrderUsage {
    size_t orders = 0;
    uint64_t bytes = 0;  // including those being received
  };
  OrderUsage Used() const;

 private:
  class Incoming;
  using Key = std::pair<uint32_t, uint64_t>;  // user, name
  struct Kept {
    // Shared with the feeds that use it.
    std::shared_ptr<const plan::GivenOrder> order;
    std::set<uint64_t> senders;  // peers that may still use it
    bool opened = false;
    std::optional<base::TimePoint> unused_since;
    bool InUse() const { return order.use_count() > 1; }
  };

  absl::Status Admit(const Sender& sender, uint64_t length) PENSTOCK_REQUIRES(mutex_);
  absl::Status Claim(uint32_t user, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  bool Evict(std::optional<uint32_t> user) PENSTOCK_REQUIRES(mutex_);
  void Drop(std::map<Key, Kept>::iterator kept) PENSTOCK_REQUIRES(mutex_);
  void Uncount(uint32_t user, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  static base::TimePoint UnusedSince(const Kept& kept);
  absl::Status Grow(uint32_t user, uint64_t bytes);
  absl::StatusOr<uint64_t> Keep(const Sender& sender, plan::GivenOrder order);
  void Forget(uint32_t user, uint64_t bytes);

  const Options options_;
  mutable base::Mutex mutex_;
  std::map<Key, Kept> kept_ PENSTOCK_GUARDED_BY(mutex_);
  // By user; including those being received.
  std::map<uint32_t, uint32_t> orders_of_ PENSTOCK_GUARDED_BY(mutex_);
  base::Shares bytes_ PENSTOCK_GUARDED_BY(mutex_);  // including those being received
};

}  // namespace penstock::app
