// Why a call was refused, for the log and for metrics. The caller may have to be told less, so this
// never reaches it: it travels as a payload of the status, which doesn't leave the process.
#pragma once

#include <array>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::rpc {

// In the order of these names, which metrics show.
// The last four say that the call itself could not be served; the others are decisions about the
// caller.
enum class Refusal {
  kNoTicket,
  kNotOperator,
  kNotInGroup,
  kNotOwner,
  kLimit,
  kNoRule,
  kBadRequest,  // the request is invalid
  kNotFound,    // its dataset, file or session does not exist
  kNotNow,      // the daemon drains or ends, or something is not in the state that the call needs
  kFailed,      // what it needs is broken: a dataset, a GPU, the daemon
};
inline constexpr std::array<absl::string_view, 10> kRefusals = {
    "no_ticket", "not_operator", "not_in_group", "not_owner", "limit",
    "no_rule",   "bad_request",  "not_found",    "not_now",   "failed"};

inline constexpr char kRefusalUrl[] = "penstock/refusal";
inline constexpr char kRefusalWhyUrl[] = "penstock/refusal-why";

// `why`: an addition for the log, which may mention what the caller must not know.
inline absl::Status Refused(absl::Status status, Refusal refusal, absl::string_view why = "") {
  status.SetPayload(kRefusalUrl, absl::Cord(kRefusals[static_cast<size_t>(refusal)]));
  if (!why.empty()) status.SetPayload(kRefusalWhyUrl, absl::Cord(why));
  return status;
}

}  // namespace penstock::rpc
