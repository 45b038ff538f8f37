// What each user has had of those who fill rows, in their time: whoever has had the least is next.
// Rows that were given out and have not ended count as what the user's rows took on average.
//
// Start-time fair queueing: a clock stands where the least of those who want something is, and who
// comes back after a pause starts there, but for one turn's credit. So nothing is saved up, and who
// wants little gets it at once. An account outlives its user's sessions until the clock has passed
// it: leaving and coming back pays no debt. Pure; owned by a schedule.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

// So much longer somebody may be served who has had more than another who waits: a change of users
// costs something.
inline constexpr base::Duration kTurn = std::chrono::milliseconds(25);

class Spending {
 public:
  // Rows were given out; they ended. Without a cost it is what was expected.
  void Given(UserId user, uint32_t rows);
  void Ended(UserId user, uint32_t rows, std::optional<base::Duration> cost);

  // Whether the user wants rows now. All that are asked about are, before the clock goes on.
  void Wants(UserId user, bool wants);
  void Advance();

  base::Duration Of(UserId user) const;
  size_t accounts() const { return accounts_.size(); }

 private:
  struct Account {
    base::Duration spent{};
    base::Duration row = std::chrono::milliseconds(1);  // on average; a guess until one has ended
    uint64_t given = 0;
    bool measured = false, wants = false;
  };
  static base::Duration Total(const Account& account) {
    return account.spent + account.row * static_cast<int64_t>(account.given);
  }

  absl::flat_hash_map<UserId, Account> accounts_;
  base::Duration clock_{};
};

}  // namespace penstock::feed
