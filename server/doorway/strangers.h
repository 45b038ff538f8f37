// Connections that have not sent Hello yet. Their number and time are limited, and the places are
// shared between users.
//
// **Thread safety**: used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "common/base/clock.h"
#include "common/base/shares.h"
#include "server/doorway/outbox.h"

namespace penstock::doorway {

struct Stranger {
  SharedSocket socket;
  base::TimePoint deadline;
  uint32_t user = 0;
};

class Strangers {
 public:
  explicit Strangers(size_t most) : places_(most) {}

  // The connection to close in favour of a new one of this user; nullopt if a place is free. It is
  // the same user's oldest, so that users don't take places from each other, or the oldest of all
  // if this user has none.
  std::optional<uint64_t> DisplacedBy(uint32_t user) const;
  uint64_t ShareOf(uint32_t user) const { return places_.ShareOf(user, false); }

  // **Requires**: ids and deadlines increase.
  void Add(uint64_t id, Stranger stranger);
  Stranger Remove(uint64_t id);
  bool Contains(uint64_t id) const { return strangers_.contains(id); }
  const Stranger& at(uint64_t id) const { return strangers_.at(id); }

  // The connection whose deadline comes first; nullopt if there is none.
  std::optional<uint64_t> first() const;

 private:
  std::map<uint64_t, Stranger> strangers_;
  base::Shares places_;
};

}  // namespace penstock::doorway
