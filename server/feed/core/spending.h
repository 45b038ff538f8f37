// How much of the workers' or row copiers' time each user has used; the user with the least is
// next. Rows in progress count with the user's average, or with the time that they have taken so
// far if that is longer, so a row that hangs is paid for while it hangs.
//
// Start-time fair queueing: a virtual clock follows the least usage of the users that want
// something. A user who returns after a pause starts at that clock, with one turn's credit. So
// nothing is saved up, and a user who needs little is served at once. An account outlives its
// user's sessions until the clock has passed it, so leaving and returning clears no debt. Pure.
// **Ownership**: owned by a schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

// How long a user may be served beyond another's usage before they are switched, because switching
// has a cost.
inline constexpr base::Duration kTurn = std::chrono::milliseconds(25);

class Spending {
 public:
  // Rows were given out, or ended. Without a cost, the average counts.
  void Given(UserId user, uint32_t rows);
  void Ended(UserId user, uint32_t rows, std::optional<base::Duration> cost);
  // How long the user's rows in progress have occupied workers so far, since the last cost.
  void Occupied(absl::FunctionRef<base::Duration(UserId)> so_far);

  // Whether the user wants rows now. Call it for all users before the clock advances.
  void Wants(UserId user, bool wants);
  void Advance();

  base::Duration Of(UserId user) const;
  size_t accounts() const { return accounts_.size(); }

 private:
  struct Account {
    base::Duration spent{};
    base::Duration row = std::chrono::milliseconds(1);  // average; a guess until one has ended
    uint64_t given = 0;
    base::Duration occupied{};  // by rows in progress, so far
    bool measured = false, wants = false;
  };
  static base::Duration Total(const Account& account) {
    return account.spent +
           std::max(account.row * static_cast<int64_t>(account.given), account.occupied);
  }

  absl::flat_hash_map<UserId, Account> accounts_;
  base::Duration clock_{};
};

}  // namespace penstock::feed
