// How Penstock's client says that something went wrong: values, not exceptions.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "penstock/export.h"

namespace penstock {

enum class Code {
  kOk = 0,
  kInvalidArgument,     // the call cannot be right; nothing was done
  kNotFound,            // no such dataset, no daemon
  kPermissionDenied,    // a socket or a path that is not for this user
  kFailedPrecondition,  // wrong state: closed, forked, another version
  kResourceExhausted,   // does not fit now; the message has the numbers
  kDeadlineExceeded,    // nothing came in time
  kUnavailable,         // the daemon is gone; the next call connects again
  kDataLoss,            // the feed failed: too many bad samples, or its source
  kEndOfEpoch,          // Next: this epoch has no more batches for this rank
  kEndOfData,           // Next: all epochs that were asked for are done
  kInternal,            // a bug of Penstock
  kCancelled,           // ClientOptions::interrupted said so
};

// "unavailable", "end of epoch", …
PENSTOCK_EXPORT const char* CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }  // what, why, what to do
  std::string ToString() const {
    return ok() ? "ok" : std::string(CodeName(code_)) + ": " + message_;
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// Prints the status on standard error, in one line, and ends the process with exit code 1.
[[noreturn]] PENSTOCK_EXPORT void Die(const Status& status);

// A value, or why there is none. Reading the value of a failed result ends the process with its
// message.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: meant to convert
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: meant to convert

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& operator*() & { return Value(*this); }
  const T& operator*() const& { return Value(*this); }
  T&& operator*() && { return std::move(Value(*this)); }
  T* operator->() { return &Value(*this); }
  const T* operator->() const { return &Value(*this); }

  // The value, or the end of the process with the message on standard error: for examples and
  // tools.
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
