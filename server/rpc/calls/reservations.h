// Permits for something that few may have at once, divided between users: each may hold half of
// what the others leave.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/shares.h"

namespace penstock::rpc {

class Reservations {
 public:
  explicit Reservations(uint64_t most) : most_(most) {}

  // A permit, held as long as the pointer, which may outlive `this`; null: the user has its share.
  std::shared_ptr<const void> Take(uint32_t user) {
    auto permit = std::make_shared<const char>();
    const base::MutexLock lock(mutex_);
    held_.remove_if([](const auto& one) { return one.second.expired(); });
    base::Shares shares(most_);
    for (const auto& [holder, one] : held_) shares.Add(holder);
    if (!shares.CanTake(user, false)) return nullptr;
    held_.emplace_back(user, permit);
    return permit;
  }

 private:
  const uint64_t most_;
  base::Mutex mutex_;
  std::list<std::pair<uint32_t, std::weak_ptr<const void>>> held_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::rpc
