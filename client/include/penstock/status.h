// How the client reports errors: as values, never as exceptions.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "penstock/export.h"

namespace penstock {

enum class Code {
  kOk = 0,
  kInvalidArgument,     // an argument is invalid; nothing was done
  kNotFound,            // no such dataset, or no daemon
  kPermissionDenied,    // this user may not use the socket or the path
  kFailedPrecondition,  // wrong state: closed, moved from, forked, or another version
  kResourceExhausted,   // does not fit now; the message has the numbers
  kDeadlineExceeded,    // the timeout ran out
  kUnavailable,         // the daemon is gone; the next call connects again
  kDataLoss,            // the feed failed: too many bad samples, or the source failed
  kEndOfEpoch,          // Next: this epoch has no more batches for this rank
  kEndOfData,           // Next: all requested epochs are done
  kInternal,            // a bug in Penstock
  kCancelled,           // the call was cancelled
  kHostWanted,          // Next: fork a host first (Session::HostsWanted)
};

// The code in words: "unavailable", "end of epoch", …
PENSTOCK_EXPORT const char* CodeName(Code code);

// A code and a message. The default is success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }  // what failed, why, and what to do
  std::string ToString() const {
    return ok() ? "ok" : std::string(CodeName(code_)) + ": " + message_;
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// Prints the status on standard error, in one line, and exits with code 1.
[[noreturn]] PENSTOCK_EXPORT void Die(const Status& status);

// Either a value or an error.
//
// **Requires**: ok() before the value is read; otherwise the process exits through Die().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& operator*() & { return Value(*this); }
  const T& operator*() const& { return Value(*this); }
  T&& operator*() && { return std::move(Value(*this)); }
  T* operator->() { return &Value(*this); }
  const T* operator->() const { return &Value(*this); }

  // Returns the value, or exits through Die(). For examples and tools.
  T OrDie() && { return std::move(Value(*this)); }

 private:
  template <typename Self>
  static auto& Value(Self& self) {
    if (!self.value_) Die(self.status_);
    return *self.value_;
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace penstock
