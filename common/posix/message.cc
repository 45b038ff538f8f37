// Messages of socket.h: sendmsg and recvmsg with descriptors.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "common/posix/socket.h"

namespace penstock::posix {
namespace {

constexpr size_t kControlSpace = CMSG_SPACE(kMaxMessageFds * sizeof(int));

struct alignas(cmsghdr) Control {
  char space[kControlSpace];
};

void Attach(msghdr& header, Control& control, std::span<const int> fds) {
  if (fds.empty()) return;
  control = {};
  header.msg_control = control.space;
  header.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
}

// Takes every received descriptor, so that none leaks even if the message is rejected.
std::vector<Fd> TakeDescriptors(msghdr& header) {
  std::vector<Fd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds.emplace_back(number);
    }
  }
  return fds;
}

bool CanOpenMore() {
  const Fd one(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  return one.valid() || (errno != EMFILE && errno != ENFILE);
}

absl::Status Gone() { return absl::UnavailableError("the peer closed the socket"); }

absl::Status WaitReadable(const Fd& socket, base::TimePoint deadline) {
  const base::SteadyClock clock;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now()).count();
    pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return base::ErrnoStatus(errno, "waiting for a message");
    if (ready == 0 && clock.Now() >= deadline) {
      return absl::DeadlineExceededError("no message arrived in time");
    }
  }
}

// Not the peer's doing: descriptors that others have not received yet, or a lack of system memory.
absl::Status NotNow(int error_number) {
  return absl::AbortedError(absl::StrCat(
      "the system cannot send a message now: ", ::strerrordesc_np(error_number), "; try again"));
}

}  // namespace

absl::Status Send(const Fd& socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  if (bytes.empty() || fds.size() > kMaxMessageFds) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", bytes.size(), " bytes with ",
                                                   fds.size(), " descriptors; at least 1 byte and ",
                                                   "at most ", kMaxMessageFds, " are possible"));
  }
  iovec data{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  Control control;
  Attach(header, control, fds);
  ssize_t sent;
  do {
    sent = ::sendmsg(socket.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return absl::OkStatus();
  if (errno == EAGAIN) return absl::ResourceExhaustedError("the peer does not read its messages");
  if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return Gone();
  if (errno == ETOOMANYREFS)
    return absl::AbortedError(
        "sending a message: too many descriptors that this user sent have not been received yet; "
        "the limit on open files limits their number, too (LimitNOFILE, ulimit -n)");
  if (errno == ENOBUFS || errno == ENOMEM) return NotNow(errno);
  return base::ErrnoStatus(errno, "sending a message");
}

absl::StatusOr<Message> Receive(const Fd& socket, size_t max_bytes, base::Duration timeout,
                                Descriptors descriptors) {
  const base::TimePoint deadline = base::Now() + timeout;
  Message message;
  message.bytes.resize(max_bytes);
  iovec data{.iov_base = message.bytes.data(), .iov_len = max_bytes};
  Control control;
  msghdr header;
  ssize_t got;
  do {
    PENSTOCK_RETURN_IF_ERROR(WaitReadable(socket, deadline));
    header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (descriptors == Descriptors::kTake) {
      header.msg_control = control.space;
      header.msg_controllen = sizeof(control.space);
    }
    got = ::recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0 && errno == ECONNRESET) return Gone();
  if (got < 0) return base::ErrnoStatus(errno, "receiving a message");
  message.fds = TakeDescriptors(header);
  if (got == 0) return Gone();  // Send rejects empty messages, so this is the end of the stream
  if (descriptors == Descriptors::kDrop) header.msg_flags &= ~MSG_CTRUNC;
  if ((header.msg_flags & MSG_CTRUNC) != 0 && !CanOpenMore()) {
    return absl::ResourceExhaustedError(
        "a message's descriptors were lost: this process has reached its limit of open files; "
        "raise it (LimitNOFILE, ulimit -n)");
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a message of more than ", max_bytes,
                                                   " bytes or ", kMaxMessageFds, " descriptors"));
  }
  message.bytes.resize(static_cast<size_t>(got));
  return message;
}

}  // namespace penstock::posix
