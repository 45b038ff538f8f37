#include "server/app/service/given_orders.h"

#include <algorithm>
#include <new>

#include "common/base/units.h"
#include "common/posix/failpoint.h"

namespace penstock::app {
namespace {

absl::Status NoMemory(uint64_t length) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the daemon has no memory for an order of ", length, " samples; free memory"));
}

}  // namespace

// Its memory is accounted from the start, and it counts as one of its user's orders.
class GivenOrders::Incoming final : public rpc::IncomingOrder {
 public:
  Incoming(GivenOrders& orders, const Sender& sender, uint64_t length)
      : orders_(orders), sender_(sender), builder_(length), counted_(builder_.bytes()) {}
  ~Incoming() override {
    if (!kept_) orders_.Forget(sender_.user, counted_);
  }

  absl::Status Add(std::span<const uint64_t> samples) override {
    // Numbers above 32 bits need twice the memory, which is accounted before it is allocated.
    const bool wide = std::any_of(samples.begin(), samples.end(),
                                  [](uint64_t sample) { return sample > UINT32_MAX; });
    const uint64_t needed = builder_.length() * (wide ? sizeof(uint64_t) : sizeof(uint32_t));
    if (needed > counted_) {
      PENSTOCK_RETURN_IF_ERROR(orders_.Grow(sender_.user, needed - counted_));
      counted_ = needed;
    }
    try {
      PENSTOCK_FAILPOINT_RETURN("order.partly_received");
      return builder_.Add(samples);
    } catch (const std::bad_alloc&) {
      return NoMemory(builder_.length());
    }
  }

  absl::StatusOr<uint64_t> Finish() override {
    PENSTOCK_ASSIGN_OR_RETURN(plan::GivenOrder order, builder_.Finish());
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t name, orders_.Keep(sender_, std::move(order)));
    kept_ = true;
    return name;
  }

 private:
  GivenOrders& orders_;
  const Sender sender_;
  plan::GivenOrderBuilder builder_;
  uint64_t counted_;  // in bytes
  bool kept_ = false;
};

absl::StatusOr<std::unique_ptr<rpc::IncomingOrder>> GivenOrders::Receive(const Sender& sender,
                                                                         uint64_t length) {
  {
    base::MutexLock lock(mutex_);
    PENSTOCK_RETURN_IF_ERROR(Admit(sender, length));
    ++orders_of_[sender.user];
  }
  try {
    return std::make_unique<Incoming>(*this, sender, length);
  } catch (const std::bad_alloc&) {
    Forget(sender.user, length * sizeof(uint32_t));
    return NoMemory(length);
  }
}

absl::Status GivenOrders::Admit(const Sender& sender, uint64_t length) {
  if (length > options_.max_samples)
    return absl::ResourceExhaustedError(
        absl::StrCat("an order of ", length, " samples is longer than limits.max_order_samples, ",
                     options_.max_samples, "; send a shorter one or raise the limit"));
  while (orders_of_[sender.user] >= options_.max_per_user) {
    if (!Evict(sender.user))
      return absl::ResourceExhaustedError(
          absl::StrCat("user ", sender.user, " has ", options_.max_per_user,
                       " orders in use already (limits.max_orders_per_user); close sessions or "
                       "raise the limit"));
  }
  return Claim(sender.user, length * sizeof(uint32_t));
}

// A user can free its own memory; the total limit depends on all users.
absl::Status GivenOrders::Claim(uint32_t user, uint64_t bytes) {
  const bool privileged = user == options_.owner;
  while (!bytes_.CanTake(user, privileged, bytes)) {
    const bool none_left = bytes > bytes_.most() - bytes_.held();
    if (Evict(user) || (none_left && Evict(std::nullopt))) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "an order that takes ", base::FormatBytes(bytes), " does not fit: orders in use take ",
        base::FormatBytes(bytes_.held()), " of ", base::FormatBytes(bytes_.most()),
        " (limits.max_order_memory), and user ", user, " has ",
        base::FormatBytes(bytes_.HeldBy(user)), " of the ",
        base::FormatBytes(bytes_.ShareOf(user, privileged)),
        " that it may have, half of what other users leave; close sessions or raise the limit"));
  }
  bytes_.Add(user, bytes);
  return absl::OkStatus();
}

// An order that no tick has seen unused counts as the newest.
base::TimePoint GivenOrders::UnusedSince(const Kept& kept) {
  return kept.unused_since.value_or(base::TimePoint::max());
}

// Drops the used order that has been unused for longest, of this user or of any. Orders that no
// session has used yet are kept.
bool GivenOrders::Evict(std::optional<uint32_t> user) {
  auto oldest = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (user && kept->first.first != *user) continue;
    if (!kept->second.opened || kept->second.InUse()) continue;
    if (oldest == kept_.end() || UnusedSince(kept->second) < UnusedSince(oldest->second))
      oldest = kept;
  }
  if (oldest == kept_.end()) return false;
  Drop(oldest);
  return true;
}

void GivenOrders::Drop(std::map<Key, Kept>::iterator kept) {
  Uncount(kept->first.first, kept->second.order->bytes());
  kept_.erase(kept);
}

void GivenOrders::Uncount(uint32_t user, uint64_t bytes) {
  bytes_.Remove(user, bytes);
  if (--orders_of_[user] == 0) orders_of_.erase(user);
}

absl::Status GivenOrders::Grow(uint32_t user, uint64_t bytes) {
  base::MutexLock lock(mutex_);
  return Claim(user, bytes);
}

void GivenOrders::Forget(uint32_t user, uint64_t bytes) {
  base::MutexLock lock(mutex_);
  Uncount(user, bytes);
}

// If the same order is sent again, the existing one is used.
absl::StatusOr<uint64_t> GivenOrders::Keep(const Sender& sender, plan::GivenOrder order) {
  const uint64_t name = order.hash(), bytes = order.bytes();
  base::MutexLock lock(mutex_);
  const auto [kept, is_new] = kept_.try_emplace({sender.user, name});
  if (is_new) {
    kept->second.order = std::make_shared<const plan::GivenOrder>(std::move(order));
  } else if (*kept->second.order == order) {
    Uncount(sender.user, bytes);
  } else {
    return absl::AlreadyExistsError(
        "another order with the same hash is kept, which happens once in 2^64; change one sample");
  }
  kept->second.senders.insert(sender.peer);
  kept->second.unused_since.reset();
  return name;
}

absl::StatusOr<std::shared_ptr<const plan::GivenOrder>> GivenOrders::Find(uint32_t user,
                                                                          uint64_t name) {
  base::MutexLock lock(mutex_);
  const auto kept = kept_.find({user, name});
  if (kept == kept_.end())
    return absl::NotFoundError(
        absl::StrCat("order ", absl::Hex(name, absl::kZeroPad16),
                     " is not stored, or not any more; send it with SendOrder, then open"));
  kept->second.opened = true;
  kept->second.unused_since.reset();
  return kept->second.order;
}

void GivenOrders::PeerLeft(uint64_t peer) {
  base::MutexLock lock(mutex_);
  for (auto next = kept_.begin(); next != kept_.end();) {
    const auto kept = next++;
    kept->second.senders.erase(peer);
    if (kept->second.senders.empty() && !kept->second.opened) Drop(kept);
  }
}

void GivenOrders::Tick(base::TimePoint now) {
  base::MutexLock lock(mutex_);
  for (auto next = kept_.begin(); next != kept_.end();) {
    const auto at = next++;
    Kept& kept = at->second;
    if (kept.InUse()) {
      kept.unused_since.reset();
    } else if (!kept.unused_since) {
      kept.unused_since = now;
    } else if (now - *kept.unused_since >= options_.keep_unused) {
      Drop(at);
    }
  }
}

GivenOrders::OrderUsage GivenOrders::Used() const {
  base::MutexLock lock(mutex_);
  return {kept_.size(), bytes_.held()};
}

}  // namespace penstock::app
