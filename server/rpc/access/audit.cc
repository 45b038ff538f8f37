#include "server/rpc/access/audit.h"

#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/telemetry/log.h"

namespace penstock::rpc {
namespace {

absl::string_view ShortName(absl::string_view method) {
  absl::ConsumePrefix(&method, "penstock.v1.");
  return method;
}

std::string PayloadOf(const absl::Status& status, const char* url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  return payload ? std::string(*payload) : "";
}

}  // namespace

std::optional<Refusal> Audit::ToRefusal(const absl::Status& status, const AccessRule* rule) {
  const std::string named = PayloadOf(status, kRefusalUrl);
  for (size_t i = 0; i < kRefusals.size(); ++i)
    if (named == kRefusals[i]) return static_cast<Refusal>(i);
  if (absl::IsUnauthenticated(status)) return Refusal::kNoTicket;
  if (absl::IsResourceExhausted(status)) return Refusal::kLimit;
  if (!absl::IsPermissionDenied(status)) return std::nullopt;
  if (rule != nullptr && rule->touches == Touches::kSession) return Refusal::kNotOwner;
  return Refusal::kNotInGroup;
}

telemetry::LineLimiter& Audit::LimiterFor(uid_t user) {
  if (limiters_.size() >= kMostUsers && !limiters_.contains(user)) return of_others_;
  return limiters_[user];
}

void Audit::Refuse(const Caller& caller, absl::string_view method, absl::string_view what,
                   const absl::Status& why) {
  const auto refusal = ToRefusal(why, FindRule(method)).value_or(Refusal::kNoRule);
  const absl::string_view reason = kRefusals[static_cast<size_t>(refusal)];
  const absl::string_view name = ShortName(method);
  telemetry::LineLimiter::Decision decision;
  {
    base::MutexLock lock(mutex_);
    ++counts_.refused[{std::string(name), std::string(reason)}];
    decision = LimiterFor(caller.uid).Ask(base::Now());
  }
  if (!decision.write || !telemetry::IsEnabled(telemetry::Level::kWarning)) return;
  const std::string more = PayloadOf(why, kRefusalWhyUrl);
  const absl::string_view said = more.empty() ? why.message() : absl::string_view(more);
  if (!caller.from.empty())
    return telemetry::Log(telemetry::Level::kWarning, "refused",
                          {{"from", caller.from},
                           {"method", name},
                           {"what", what},
                           {"reason", reason},
                           {"why", said}},
                          decision.suppressed);
  telemetry::Log(telemetry::Level::kWarning, "refused",
                 {{"user", caller.uid},
                  {"pid", caller.pid},
                  {"method", name},
                  {"what", what},
                  {"reason", reason},
                  {"why", said}},
                 decision.suppressed);
}

void Audit::Act(const Caller& caller, absl::string_view method, absl::string_view what,
                const absl::Status& how) {
  const absl::string_view name = ShortName(method);
  {
    base::MutexLock lock(mutex_);
    ++counts_.acted[std::string(name)];
  }
  telemetry::Log(telemetry::Level::kInfo, "operator_action",
                 {{"user", caller.uid},
                  {"pid", caller.pid},
                  {"method", name},
                  {"what", what},
                  {"result", how.ok() ? "ok" : how.message()}});
}

Audit::Counts Audit::counts() const {
  base::MutexLock lock(mutex_);
  return counts_;
}

void AuditedCall::Ended(const absl::Status& status) {
  Audit* const audit = std::exchange(audit_, nullptr);
  if (audit == nullptr) return;
  const absl::string_view method = rule_ == nullptr ? "unknown" : rule_->method;
  static const Caller* const kNobody = new Caller;
  const Caller& caller = caller_ == nullptr ? *kNobody : *caller_;
  const bool acts = caller.is_operator && caller.from.empty();
  if (rule_ != nullptr && rule_->is_action && acts)
    return audit->Act(caller, method, what_, status);
  if (Audit::ToRefusal(status, rule_)) audit->Refuse(caller, method, what_, status);
}

}  // namespace penstock::rpc
