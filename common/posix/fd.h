// Owns one file descriptor and closes it. Move-only. Any thread, one at a time.
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

  // A second descriptor for the same open file, close-on-exec.
  absl::StatusOr<Fd> Duplicate() const;

 private:
  int number_ = -1;
};

// Opens a file for reading. Never waits: a FIFO without a writer would make open(2) do so for ever.
// FailedPrecondition names what it is, where it is no regular file.
absl::StatusOr<Fd> OpenRegular(const std::string& path);

// eventfd(2), non-blocking, close-on-exec. Ring adds one; Drain takes all, and is fine when empty.
// It never waits, also where a process that shares the event has made it a blocking one.
absl::StatusOr<Fd> MakeEvent();
// Only for events that no process shares which we do not trust: such a one can make Ring wait. A
// bell is for those.
void Ring(const Fd& event);
void Drain(const Fd& event);

// What an event is, between two processes of which the ringing one trusts the other in nothing: it
// never waits for it, whatever that one does with its end and leaves unread.
struct Bell {
  Fd ringing, listening;  // the listening end is readable from a ring to the next DrainBell
};
absl::StatusOr<Bell> MakeBell();
void RingBell(const Fd& ringing);
void DrainBell(const Fd& listening);

}  // namespace penstock::posix
