#include "server/rpc/access/audit.h"

#include "absl/strings/str_cat.h"
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

// URLs whose query, user or password may be a secret are refused, and not shown either.
telemetry::LogField WithoutSecrets(const telemetry::LogField& what) {
  const size_t place = what.value.find("://");
  if (place == std::string::npos || what.value.find_first_of("?@", place) == std::string::npos)
    return what;
  return {what.key, absl::StrCat(what.value.substr(0, place), "://(not shown)")};
}

// Wrong and untimely requests are everyday; the others are for the operator to know.
telemetry::Level ToLevel(Refusal refusal) {
  switch (refusal) {
    case Refusal::kBadRequest:
    case Refusal::kNotFound:
    case Refusal::kNotNow:
      return telemetry::Level::kInfo;
    default:
      return telemetry::Level::kWarning;
  }
}

}  // namespace

std::optional<Refusal> Audit::ToRefusal(const absl::Status& status, const AccessRule* rule) {
  const std::string named = PayloadOf(status, kRefusalUrl);
  for (size_t i = 0; i < kRefusals.size(); ++i)
    if (named == kRefusals[i]) return static_cast<Refusal>(i);
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:  // by the caller
      return std::nullopt;
    case absl::StatusCode::kUnauthenticated:
      return Refusal::kNoTicket;
    case absl::StatusCode::kResourceExhausted:
      return Refusal::kLimit;
    case absl::StatusCode::kPermissionDenied:
      // Whoever knows that the caller may not open a dataset says so. Else the daemon may not read
      // its files.
      return rule != nullptr && rule->touches == Touches::kSession ? Refusal::kNotOwner
                                                                   : Refusal::kFailed;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return Refusal::kBadRequest;
    case absl::StatusCode::kNotFound:
      if (rule != nullptr && rule->touches == Touches::kSession) return std::nullopt;
      return Refusal::kNotFound;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return Refusal::kNotNow;
    default:
      return Refusal::kFailed;
  }
}

telemetry::LineLimiter& Audit::LimiterFor(uid_t user) {
  if (limiters_.size() >= kMostUsers && !limiters_.contains(user)) return of_others_;
  return limiters_[user];
}

void Audit::Refuse(const Caller& caller, absl::string_view method, const telemetry::LogField& what,
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
  const telemetry::Level level = ToLevel(refusal);
  if (!decision.write || !telemetry::IsEnabled(level)) return;
  const std::string more = PayloadOf(why, kRefusalWhyUrl);
  const absl::string_view said = more.empty() ? why.message() : absl::string_view(more);
  if (!caller.from.empty())
    return telemetry::Log(level, "refused",
                          {{"from", caller.from},
                           {"method", name},
                           WithoutSecrets(what),
                           {"reason", reason},
                           {"why", said}},
                          decision.suppressed);
  telemetry::Log(level, "refused",
                 {{"user", caller.uid},
                  {"pid", caller.pid},
                  {"method", name},
                  WithoutSecrets(what),
                  {"reason", reason},
                  {"why", said}},
                 decision.suppressed);
}

// A refused action is counted as a refusal, too.
void Audit::Act(const Caller& caller, absl::string_view method, const telemetry::LogField& what,
                const absl::Status& how) {
  const std::string name(ShortName(method));
  const auto refusal = ToRefusal(how, FindRule(method));
  {
    base::MutexLock lock(mutex_);
    ++counts_.acted[name];
    if (refusal) ++counts_.refused[{name, std::string(kRefusals[static_cast<size_t>(*refusal)])}];
  }
  telemetry::Log(telemetry::Level::kInfo, "operator_action",
                 {{"user", caller.uid},
                  {"pid", caller.pid},
                  {"method", name},
                  WithoutSecrets(what),
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
