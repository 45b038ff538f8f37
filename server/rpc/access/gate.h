// Where every call of our services is judged, before anything else happens: who makes it, by the
// connection that it came over, and whether the method's rule lets that caller in. What no rule
// names is refused.
//
// A method is known by the type of its request, which no two methods share.
//
// **Thread safety**: any thread. Callers and audit outlive the gate.
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
  // `where_operators_call`: what to do instead, for those who are refused as no operators.
  Gate(Callers& callers, Audit& audit, std::string where_operators_call);

  struct Call {
    std::string peer;                         // as gRPC names it
    std::optional<absl::string_view> ticket;  // of the metadata, if there is one
    std::string what;                         // what it is about, for the log
  };
  struct Judged {
    absl::StatusOr<Permit> permit;
    AuditedCall audited;
  };
  // Unauthenticated: no ticket, or none that can be. PermissionDenied: for others alone.
  template <typename Request>
  Judged Judge(Call call) {
    return Judge(Request::descriptor(), std::move(call));
  }

 private:
  Judged Judge(const google::protobuf::Descriptor* request, Call call);
  absl::Status MayCall(const AccessRule& rule, const Caller& caller) const;

  Callers& callers_;
  Audit& audit_;
  const std::string where_operators_call_;
  std::map<const google::protobuf::Descriptor*, const AccessRule*> rules_;  // by the request
};

// What a request is about, in words; at most some hundred bytes.
std::string InWords(absl::string_view kind, absl::string_view text);

template <typename Request>
std::string WhatOf(const Request& request) {
  if constexpr (requires { request.session_id(); }) {
    return absl::StrCat("session ", request.session_id());
  } else if constexpr (requires { request.dataset(); }) {
    return InWords("dataset", request.dataset());
  } else if constexpr (requires { request.feed(); }) {
    return InWords("dataset", request.feed().dataset());
  } else if constexpr (requires { request.count(); }) {
    return absl::StrCat(request.count(), " workers");
  } else if constexpr (requires { request.cancel(); }) {
    return request.cancel() ? "cancel" : "begin";
  } else {
    return "";
  }
}

}  // namespace penstock::rpc
