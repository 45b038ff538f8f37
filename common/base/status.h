// Errors as values: absl::Status, with the macros that Debian's Abseil lacks.
//
//   InvalidArgument     the caller's bytes are wrong
//   NotFound            no such thing
//   FailedPrecondition  wrong state
//   ResourceExhausted   try later
//   PermissionDenied    not allowed for this user
//   Unavailable         the peer is gone
//   DataLoss            damaged bytes
//   Internal            our bug
//
// A message names the subject, what was expected, what was received, and what to do.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace penstock::base {

// "<context>: <message>" with the same code; OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// The status for a failed system call: "<what>: <strerror>", with the code that fits errno. The
// remedy, if given, is appended after "; ". EMFILE and ENFILE have a default remedy.
absl::Status ErrnoStatus(int error_number, absl::string_view what, absl::string_view remedy = "");

}  // namespace penstock::base

#define PENSTOCK_CONCAT_INNER(a, b) a##b
#define PENSTOCK_CONCAT(a, b) PENSTOCK_CONCAT_INNER(a, b)

#define PENSTOCK_RETURN_IF_ERROR(expression)                                    \
  do {                                                                          \
    if (::absl::Status penstock_status_ = (expression); !penstock_status_.ok()) \
      return penstock_status_;                                                  \
  } while (false)

#define PENSTOCK_ASSIGN_OR_RETURN(target, expression) \
  PENSTOCK_ASSIGN_OR_RETURN_INNER(PENSTOCK_CONCAT(penstock_or_, __LINE__), target, expression)

// NOLINTBEGIN(bugprone-macro-parentheses): the names of variables
#define PENSTOCK_ASSIGN_OR_RETURN_INNER(temporary, target, expression) \
  auto temporary = (expression);                                       \
  if (!temporary.ok()) return temporary.status();                      \
  target = std::move(temporary).value()
// NOLINTEND(bugprone-macro-parentheses)
