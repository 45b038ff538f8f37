// File descriptors and notifications between threads and processes.
//
// Fd owns one descriptor and closes it. Move-only.
//
// **Thread safety**: any thread, one at a time.
#pragma once

#include <string>
#include <utility>

#include "common/base/status.h"

namespace penstock::posix {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int Release() { return std::exchange(number_, -1); }
  void Close();

  // Another descriptor for the same open file, close-on-exec.
  absl::StatusOr<Fd> Duplicate() const;

 private:
  int number_ = -1;
};

// Opens a regular file for reading. Never waits, although open(2) would on a FIFO without a writer.
//
// **Errors**: FailedPrecondition if it is not a regular file; the message says what it is.
absl::StatusOr<Fd> OpenRegular(const std::string& path);

// Creates an eventfd(2), non-blocking and close-on-exec. NotifyEvent adds one. Drain resets it to
// zero and returns what it was; it never waits, even if a process that shares the eventfd has made
// it blocking.
absl::StatusOr<Fd> MakeEvent();
// **Requires**: no untrusted process shares the event, because it could make NotifyEvent wait. Use
// a Notifier with such processes.
void NotifyEvent(const Fd& event);
uint64_t Drain(const Fd& event);

// A notification channel for a sender that does not trust its receiver. Sending never waits,
// whatever the receiver does with its end or leaves unread.
struct Notifier {
  Fd sender, receiver;  // `receiver` is readable from a Notify until the next DrainNotifications
};
absl::StatusOr<Notifier> MakeNotifier();
void Notify(const Fd& sender);
void DrainNotifications(const Fd& receiver);

}  // namespace penstock::posix
