#include "server/feed/core/spending.h"

#include <algorithm>

namespace penstock::feed {
namespace {

constexpr int64_t kWeightOfTheLast = 8;  // weight 1/8

}  // namespace

void Spending::Given(UserId user, uint32_t rows) { accounts_[user].given += rows; }

void Spending::Ended(UserId user, uint32_t rows, std::optional<base::Duration> cost) {
  Account& account = accounts_[user];
  account.given -= std::min<uint64_t>(account.given, rows);
  account.spent += cost.value_or(account.row * static_cast<int64_t>(rows));
  account.occupied -= std::min(account.occupied, cost.value_or(base::Duration::zero()));
  if (!cost || rows == 0) return;
  const base::Duration each = *cost / static_cast<int64_t>(rows);
  account.row = account.measured ? account.row + (each - account.row) / kWeightOfTheLast : each;
  account.measured = true;
}

void Spending::Occupied(absl::FunctionRef<base::Duration(UserId)> so_far) {
  for (auto& [user, account] : accounts_) account.occupied = so_far(user);
}

void Spending::Wants(UserId user, bool wants) {
  Account& account = accounts_[user];
  if (wants && !account.wants) account.spent = std::max(account.spent, clock_ - kTurn);
  account.wants = wants;
}

// The clock follows only what was really used. If it followed estimates, a user whose last row hung
// would move it far ahead of its own usage, and would then be served before whoever returns.
void Spending::Advance() {
  std::optional<base::Duration> least;
  for (const auto& [user, account] : accounts_) {
    const base::Duration used = account.spent + account.occupied;
    if (account.wants) least = std::min(least.value_or(used), used);
  }
  if (least) clock_ = std::max(clock_, *least);
  absl::erase_if(accounts_, [this](const auto& entry) {
    const Account& account = entry.second;
    return !account.wants && account.given == 0 && account.spent <= clock_ - kTurn;
  });
}

base::Duration Spending::Of(UserId user) const {
  const auto found = accounts_.find(user);
  return found == accounts_.end() ? clock_ - kTurn : Total(found->second);
}

}  // namespace penstock::feed
