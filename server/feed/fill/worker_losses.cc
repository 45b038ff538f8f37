#include "server/feed/fill/worker_losses.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"

namespace penstock::feed {
namespace {

// Beyond this number, only accounts that are in use are kept.
constexpr size_t kKept = 1024;

int64_t Seconds(base::Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace

uint64_t WorkerLosses::AccountOf(const std::string& dataset, uint32_t user, base::TimePoint now,
                                 const std::string& called) {
  if (accounts_.size() >= kKept) Forget(now);
  const auto [place, is_new] = numbers_.try_emplace({dataset, user}, next_);
  if (is_new)
    accounts_.emplace(next_++, Account{.key = place->first,
                                       .called = {},
                                       .budget = workers::RestartBudget(options_.budget),
                                       .back_off = base::BackOff(options_.back_off),
                                       .reason = {}});
  Account& account = accounts_.at(place->second);
  account.last_used = now;
  account.called = called.empty() ? dataset : called;
  return place->second;
}

void WorkerLosses::Touch(uint64_t number, base::TimePoint now) {
  const auto found = accounts_.find(number);
  if (found != accounts_.end()) found->second.last_used = now;
}

// Forgets accounts that nobody uses and that had no deaths lately.
void WorkerLosses::Forget(base::TimePoint now) {
  std::erase_if(accounts_, [&](const auto& entry) {
    const bool old = now - entry.second.last_used >= options_.budget.window;
    if (old) numbers_.erase(entry.second.key);
    return old;
  });
}

absl::Status WorkerLosses::Died(uint64_t number, const std::string& reason, base::TimePoint now) {
  const auto found = accounts_.find(number);
  // Forgotten, because its feeds are long gone.
  if (found == accounts_.end()) return absl::OkStatus();
  Account& account = found->second;
  account.last_used = now;
  account.paused_until = now + account.back_off.Next();
  last_pause_ends_ = std::max(last_pause_ends_, account.paused_until);
  account.reason = reason;
  if (account.budget.Take(now)) return absl::OkStatus();
  account.spent_until = now + options_.budget.window;
  LookForMany(now);
  return WhySpent(account, now);
}

void WorkerLosses::WentWell(uint64_t number) {
  const auto found = accounts_.find(number);
  if (found != accounts_.end()) found->second.back_off.Reset();
}

bool WorkerLosses::IsPaused(uint64_t number, base::TimePoint now) const {
  if (!AnyPaused(now)) return false;
  const auto found = accounts_.find(number);
  return found != accounts_.end() && now < found->second.paused_until;
}

absl::Status WorkerLosses::MayOpen(const std::string& dataset, uint32_t user,
                                   base::TimePoint now) const {
  const auto found = numbers_.find({dataset, user});
  if (found == numbers_.end()) return absl::OkStatus();
  const Account& account = accounts_.at(found->second);
  return now < account.spent_until ? WhySpent(account, now) : absl::OkStatus();
}

absl::Status WorkerLosses::WhySpent(const Account& account, base::TimePoint now) const {
  if (absl::StartsWith(account.key.first, "python:")) return WhyPythonSpent(account, now);
  return absl::UnavailableError(absl::StrCat(
      "dataset '", account.called, "' has cost user ", account.key.second, " more than ",
      options_.budget.restarts, " workers within ", Seconds(options_.budget.window),
      " s (workers.max_restarts); the last one was ", account.reason,
      "; other datasets continue. Check its files and the workers' memory limit, then open it "
      "again "
      "in ",
      Seconds(account.spent_until - now), " s"));
}

// Not Unavailable: a trainer would wait for it, and its workers are its own.
absl::Status WorkerLosses::WhyPythonSpent(const Account& account, base::TimePoint now) const {
  return absl::FailedPreconditionError(absl::StrCat(
      "dataset '", account.called, "': more than ", options_.budget.restarts,
      " of its Python workers ended within ", Seconds(options_.budget.window),
      " s (workers.max_restarts); the last one was ", account.reason,
      "; look for what ends them: worker_init_fn, native code, or a lack of memory, which fewer "
      "workers need less of. It may be opened again in ",
      Seconds(account.spent_until - now), " s"));
}

void WorkerLosses::LookForMany(base::TimePoint now) {
  std::set<std::string> datasets;
  std::set<uint32_t> users;
  for (const auto& [number, account] : accounts_) {
    if (now >= account.spent_until) continue;
    datasets.insert(account.key.first);
    users.insert(account.key.second);
  }
  if (!status_.ok() || datasets.size() < options_.many || users.size() < options_.many) return;
  status_ = absl::UnavailableError(absl::StrCat(
      "workers die too often, over ", datasets.size(), " datasets of ", users.size(),
      " users, so the cause is the machine or the decoders; "
      "check the daemon's log (worker_died) and the workers' memory limit, then restart the daemon "
      "again"));
}

}  // namespace penstock::feed
