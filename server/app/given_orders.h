// The orders of samples that clients gave, until no session needs them: counted, bounded, and
// dropped a while after they were last used; at once when the processes that sent one are gone and
// no session ever used it. Each user has its own, and at most half of the memory that others'
// leave. Any thread; nothing here waits.
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
    uint64_t max_samples = 100'000'000;  // of one order
    uint32_t max_per_user = 256;         // kept and coming in
    uint64_t max_bytes = 1u << 30;       // of all together
    std::optional<uint32_t> owner = {};  // a user who has no share, but all that is left
    base::Duration keep_unused = std::chrono::seconds(60);
  };
  explicit GivenOrders(const Options& options) : options_(options), bytes_(options.max_bytes) {}

  struct Sender {
    uint32_t user = 0;
    uint64_t peer = 0;
  };
  // An order of so many samples. ResourceExhausted says which limit is in the way. What it gives
  // must not outlive this object.
  absl::StatusOr<std::unique_ptr<rpc::IncomingOrder>> Receive(const Sender& sender,
                                                              uint64_t length);

  // For a session that will use it. NotFound: this user sent none of that name, or it was dropped.
  absl::StatusOr<std::shared_ptr<const plan::GivenOrder>> Find(uint32_t user, uint64_t name);

  // Opens nothing any more: what it alone sent, and no session ever used, is dropped.
  void PeerLeft(uint64_t peer);
  // Drops what has not been used for long enough. Several times a minute.
  void Tick(base::TimePoint now);

  struct OrderUsage {
    size_t orders = 0;
    uint64_t bytes = 0;  // with those coming in
  };
  OrderUsage Used() const;

 private:
  class Incoming;
  using Key = std::pair<uint32_t, uint64_t>;  // user, name
  struct Kept {
    // Shared with the feeds that use it.
    std::shared_ptr<const plan::GivenOrder> order;
    std::set<uint64_t> senders;  // peers that may still open it
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
  std::map<uint32_t, uint32_t> orders_of_ PENSTOCK_GUARDED_BY(mutex_);  // by user; with incoming
  base::Shares bytes_ PENSTOCK_GUARDED_BY(mutex_);                      // with incoming
};

}  // namespace penstock::app
