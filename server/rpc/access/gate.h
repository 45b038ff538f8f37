// Checks every call of our services before anything else happens: who makes it, according to its
// connection, and whether the method's rule admits that caller. Calls without a rule are refused.
//
// A method is identified by the type of its request, which no two methods share.
//
// **Thread safety**: any thread. **Requires**: callers and audit outlive the gate.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/rpc/access/access.h"
#include "server/rpc/access/audit.h"
#include "server/rpc/access/callers.h"

namespace google::protobuf {
class Descriptor;
}

namespace penstock::rpc {

class Gate {
 public:
  // `where_operators_call`: the socket to name when a call is refused because the caller is not an
  // operator.
  Gate(Callers& callers, Audit& audit, std::string where_operators_call);

  struct Call {
    std::string peer;                         // as reported by gRPC
    std::optional<absl::string_view> ticket;  // from the metadata, if present
    telemetry::LogField what = {"what", ""};  // the object of the call, for the log
  };
  struct Judged {
    absl::StatusOr<Permit> permit;
    AuditedCall audited;
  };
  // **Errors**: Unauthenticated for a missing or malformed ticket; PermissionDenied if the rule
  // doesn't admit the caller.
  template <typename Request>
  Judged Judge(Call call) {
    return Judge(Request::descriptor(), std::move(call));
  }

  // Records that a request could not be read, so that nobody could judge the call. `method` as in
  // the HTTP/2 path: "/penstock.v1.FeedService/OpenSession". False: this is no method of ours.
  bool NoteUnread(const std::string& peer, absl::string_view method, const absl::Status& why);

 private:
  Judged Judge(const google::protobuf::Descriptor* request, Call call);
  absl::Status MayCall(const AccessRule& rule, const Caller& caller) const;

  Callers& callers_;
  Audit& audit_;
  const std::string where_operators_call_;
  std::map<const google::protobuf::Descriptor*, const AccessRule*> rules_;  // by request type
};

// A text from a client as a field for the log, in at most a few hundred bytes.
telemetry::LogField InWords(absl::string_view key, absl::string_view text);

template <typename Request>
telemetry::LogField WhatOf(const Request& request) {
  if constexpr (requires { request.session_id(); }) {
    return {"session", request.session_id()};
  } else if constexpr (requires { request.dataset(); }) {
    return InWords("dataset", request.dataset());
  } else if constexpr (requires { request.feed(); }) {
    return InWords("dataset", request.feed().dataset());
  } else if constexpr (requires { request.count(); }) {
    return {"workers", request.count()};
  } else if constexpr (requires { request.cancel(); }) {
    return {"cancel", request.cancel()};
  } else {
    return {"what", ""};
  }
}

}  // namespace penstock::rpc
