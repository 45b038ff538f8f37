// Records refusals and operators' actions: a log line for each, and counts for metrics. Per user,
// ten refusals at once and then ten per second are logged, and the next line says how many were
// left out, so that a flood neither fills the log nor hides others' refusals. Operators' actions
// are always logged.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/telemetry/line.h"
#include "common/telemetry/line_limiter.h"
#include "server/rpc/access/access.h"
#include "server/rpc/access/refusal.h"

namespace penstock::rpc {

class Audit {
 public:
  // Refusals by method (without its package) and reason, and actions by method.
  struct Counts {
    std::map<std::pair<std::string, std::string>, uint64_t> refused;
    std::map<std::string, uint64_t> acted;
  };

  // `method`: a rule's method, or a word such as "connect". `what`: the object of the call, such as
  // its dataset or session.
  void Refuse(const Caller& caller, absl::string_view method, const telemetry::LogField& what,
              const absl::Status& why);
  void Act(const Caller& caller, absl::string_view method, const telemetry::LogField& what,
           const absl::Status& how);
  Counts counts() const;

  // Which kind of refusal the status is; nullopt if it is none: the call succeeded, the caller
  // cancelled it, or its session has ended.
  static std::optional<Refusal> ToRefusal(const absl::Status& status, const AccessRule* rule);

 private:
  static constexpr size_t kMostUsers = 64;  // with their own rate limiters; further users share one
  telemetry::LineLimiter& LimiterFor(uid_t user) PENSTOCK_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uid_t, telemetry::LineLimiter> limiters_ PENSTOCK_GUARDED_BY(mutex_);
  telemetry::LineLimiter of_others_ PENSTOCK_GUARDED_BY(mutex_);
};

// The audit of one call. Logs only refusals and operators' actions. **Requires**: the audit
// outlives it.
class AuditedCall {
 public:
  AuditedCall() = default;
  AuditedCall(Audit& audit, std::shared_ptr<const Caller> caller, const AccessRule* rule,
              telemetry::LogField what)
      : audit_(&audit), caller_(std::move(caller)), rule_(rule), what_(std::move(what)) {}

  // Whose it is, for counting: callers of other machines are one user.
  uint32_t user() const {
    return caller_ == nullptr || !caller_->from.empty() ? UINT32_MAX : caller_->uid;
  }
  // Records how the call ended; only the first call counts.
  void Ended(const absl::Status& status);

 private:
  Audit* audit_ = nullptr;
  std::shared_ptr<const Caller> caller_;  // shared with the connection's other calls; null: unknown
  const AccessRule* rule_ = nullptr;      // null: no rule
  telemetry::LogField what_ = {"what", ""};
};

}  // namespace penstock::rpc
