#include "server/rpc/access/gate.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"
#include "server/rpc/message_to_domain.h"

namespace penstock::rpc {
namespace {

using google::protobuf::FileDescriptor;

std::map<const google::protobuf::Descriptor*, const AccessRule*> RulesByRequest() {
  std::map<const google::protobuf::Descriptor*, const AccessRule*> rules;
  for (const FileDescriptor* file :
       {v1::GetVersionRequest::descriptor()->file(), v1::GetStatusRequest::descriptor()->file()})
    for (int i = 0; i < file->service_count(); ++i)
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        const google::protobuf::MethodDescriptor* method = file->service(i)->method(j);
        PENSTOCK_CHECK(rules.emplace(method->input_type(), FindRule(method->full_name())).second);
      }
  return rules;
}

}  // namespace

Gate::Gate(Callers& callers, Audit& audit, std::string where_operators_call)
    : callers_(callers),
      audit_(audit),
      where_operators_call_(std::move(where_operators_call)),
      rules_(RulesByRequest()) {}

Gate::Judged Gate::Judge(const google::protobuf::Descriptor* request, Call call) {
  const auto found = rules_.find(request);
  const AccessRule* const rule = found == rules_.end() ? nullptr : found->second;
  const std::shared_ptr<const Caller> caller = callers_.Find(call.peer);
  AuditedCall audited(audit_, caller, rule, std::move(call.what));
  if (rule == nullptr)
    return {Refused(absl::PermissionDeniedError("nobody may call this method"), Refusal::kNoRule),
            std::move(audited)};
  if (caller == nullptr)
    return {absl::UnauthenticatedError("this connection's process is unknown; connect again"),
            std::move(audited)};
  if (const absl::Status may = MayCall(*rule, *caller); !may.ok()) return {may, std::move(audited)};
  if (rule->who != Who::kTicketHolder) return {Permit(caller), std::move(audited)};
  absl::StatusOr<Ticket> ticket = TicketFrom(call.ticket);
  if (ticket.ok()) ticket->origin = {.user = caller->uid, .pid = caller->pid};
  if (!ticket.ok()) return {ticket.status(), std::move(audited)};
  return {Permit(caller, *ticket), std::move(audited)};
}

bool Gate::NoteUnread(const std::string& peer, absl::string_view method, const absl::Status& why) {
  const AccessRule* const rule =
      FindRule(absl::StrReplaceAll(absl::StripPrefix(method, "/"), {{"/", "."}}));
  if (rule == nullptr) return false;
  AuditedCall(audit_, callers_.Find(peer), rule, {"what", ""}).Ended(why);
  return true;
}

absl::Status Gate::MayCall(const AccessRule& rule, const Caller& caller) const {
  const absl::string_view name = rule.method.substr(rule.method.rfind('.') + 1);
  if (!caller.from.empty() && rule.reach == Reach::kThisMachine)
    return Refused(absl::PermissionDeniedError(absl::StrCat(
                       name,
                       " is not answered over TCP, where operators only look at a daemon; on "
                       "its machine, ",
                       where_operators_call_)),
                   Refusal::kNotOperator);
  if (rule.who != Who::kOperator || caller.is_operator) return absl::OkStatus();
  return Refused(absl::PermissionDeniedError(
                     absl::StrCat(name, " affects all users, and is only for operators; user ",
                                  caller.uid, " is not one: ", where_operators_call_)),
                 Refusal::kNotOperator);
}

telemetry::LogField InWords(absl::string_view key, absl::string_view text) {
  constexpr size_t kMost = 100;
  return {key, absl::StrCat(text.substr(0, kMost), text.size() > kMost ? "…" : "")};
}

}  // namespace penstock::rpc
