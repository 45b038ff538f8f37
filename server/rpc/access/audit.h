// The daemon's book of who was refused what, and of what operators did: a log line for each, and
// counts for metrics. Refusals of one user are written ten at once, then ten a second, and the next
// line says how many were left out: whoever floods neither fills the log nor hides others'
// refusals. Operators' actions are always written.
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
#include "common/telemetry/line_limiter.h"
#include "server/rpc/access/access.h"
#include "server/rpc/access/refusal.h"

namespace penstock::rpc {

class Audit {
 public:
  // By method, without its package, and reason; and by method.
  struct Counts {
    std::map<std::pair<std::string, std::string>, uint64_t> refused;
    std::map<std::string, uint64_t> acted;
  };

  // `method` is a rule's, or says in a word what was wanted: "connect". `what` it was about.
  void Refuse(const Caller& caller, absl::string_view method, absl::string_view what,
              const absl::Status& why);
  void Act(const Caller& caller, absl::string_view method, absl::string_view what,
           const absl::Status& how);
  Counts counts() const;

  // Which refusal this is; none: it is no refusal.
  static std::optional<Refusal> RefusalOf(const absl::Status& status, const AccessRule* rule);

 private:
  static constexpr size_t kMostUsers = 64;  // with limiters of their own; the others share one
  telemetry::LineLimiter& LimiterFor(uid_t user) PENSTOCK_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uid_t, telemetry::LineLimiter> limiters_ PENSTOCK_GUARDED_BY(mutex_);
  telemetry::LineLimiter of_others_ PENSTOCK_GUARDED_BY(mutex_);
};

// One call's entry in the book: writes nothing unless it was refused, or is an operator's action.
// The audit outlives it.
class AuditedCall {
 public:
  AuditedCall() = default;
  AuditedCall(Audit& audit, std::shared_ptr<const Caller> caller, const AccessRule* rule,
              std::string what)
      : audit_(&audit), caller_(std::move(caller)), rule_(rule), what_(std::move(what)) {}

  // How it ended; once, later ones are ignored.
  void Ended(const absl::Status& status);

 private:
  Audit* audit_ = nullptr;
  std::shared_ptr<const Caller> caller_;  // shared with its connection's calls; null: not known
  const AccessRule* rule_ = nullptr;      // null: there is none
  std::string what_;
};

}  // namespace penstock::rpc
