#include "common/posix/fd.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "common/base/check.h"

namespace penstock::posix {

void Fd::Close() {
  // close(2) frees the number even when it is interrupted, so never retry it.
  if (valid()) ::close(std::exchange(number_, -1));
}

absl::StatusOr<Fd> Fd::Duplicate() const {
  Fd copy(::fcntl(number_, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    return base::ErrnoStatus(errno, absl::StrCat("duplicating descriptor ", number_));
  }
  return copy;
}

absl::StatusOr<Fd> OpenRegular(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return base::ErrnoStatus(errno, path);
  if (S_ISREG(status.st_mode)) return file;
  const char* what = S_ISDIR(status.st_mode)    ? "a directory"
                     : S_ISFIFO(status.st_mode) ? "a FIFO"
                     : S_ISCHR(status.st_mode)  ? "a device"
                                                : "something else";
  return absl::FailedPreconditionError(absl::StrCat(path, " is ", what, ", wanted a regular file"));
}

absl::StatusOr<Fd> MakeEvent() {
  Fd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.valid()) {
    return base::ErrnoStatus(errno, "making an event descriptor",
                             "raise the limit on open files (ulimit -n)");
  }
  return event;
}

void NotifyEvent(const Fd& event) {
  const uint64_t one = 1;
  ssize_t written;
  do {
    written = ::write(event.get(), &one, sizeof(one));
  } while (written < 0 && errno == EINTR);
  // EAGAIN: the counter is full, so the listener has been woken already.
  PENSTOCK_CHECK(written == sizeof(one) || errno == EAGAIN);
}

uint64_t Drain(const Fd& event) {
  uint64_t count = 0;
  const iovec into{.iov_base = &count, .iov_len = sizeof(count)};
  ssize_t got;
  do {
    got = ::preadv2(event.get(), &into, 1, -1, RWF_NOWAIT);
  } while (got < 0 && errno == EINTR);
  PENSTOCK_CHECK(got == sizeof(count) || errno == EAGAIN);
  return got < 0 ? 0 : count;
}

// Sockets, because each send and receive can be non-blocking by flag. For an eventfd only
// O_NONBLOCK decides, which anyone with the descriptor can change. Datagrams, because only a few
// are queued.
absl::StatusOr<Notifier> MakeNotifier() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return base::ErrnoStatus(errno, "making a bell", "raise the limit on open files (ulimit -n)");
  }
  return Notifier{.sender = Fd(ends[0]), .receiver = Fd(ends[1])};
}

void Notify(const Fd& sender) {
  // A failed send needs no retry: either unread notifications fill the queue, or nobody listens.
  const char ring = 1;
  while (::send(sender.get(), &ring, sizeof(ring), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
         errno == EINTR) {
  }
}

void DrainNotifications(const Fd& receiver) {
  char ring;
  ssize_t got;
  do {
    got = ::recv(receiver.get(), &ring, sizeof(ring), MSG_DONTWAIT);
  } while (got > 0 || (got < 0 && errno == EINTR));
}

}  // namespace penstock::posix
