#include "common/sandbox/probe/landlock_trial.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace penstock::sandbox {
namespace {

constexpr char kFile[] = "/dev/null";  // which everybody may read and write
uint64_t parents_number = 0;           // at the same address in the parent, of which this is a copy

// 0, or the errno of a failed call. A descriptor that the call made is closed.
int ResultOf(long result) { return result < 0 ? errno : 0; }
int ResultOfOpening(int fd) {
  const int outcome = ResultOf(fd);
  if (fd >= 0) ::close(fd);
  return outcome;
}
int OpenFile(const char* path, int flags) { return ResultOfOpening(::open(path, flags, 0600)); }

sockaddr_in Loopback(in_port_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// With any port, because Landlock refuses that, too.
int BindTcp() {
  const posix::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(0);
  return ResultOf(
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}

// An answer of the other end, even a refusal, means that the attempt left this process.
int ConnectTcp() {
  const posix::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in address = Loopback(1);
  const int outcome = ResultOf(
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  return outcome == ECONNREFUSED || outcome == EINPROGRESS ? 0 : outcome;
}

int ReadParent() {
  uint64_t copy = 0;
  const iovec own{.iov_base = &copy, .iov_len = sizeof(copy)};
  const iovec others{.iov_base = &parents_number, .iov_len = sizeof(copy)};
  return ResultOf(::process_vm_readv(::getppid(), &own, 1, &others, 1, 0));
}

// At an abstract address that the kernel chooses.
posix::Fd Listen(sockaddr_un& address, socklen_t& bytes) {
  posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address.sun_family = AF_UNIX;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), name, sizeof(sa_family_t)) != 0) return posix::Fd();
  ::listen(socket.get(), static_cast<int>(kLandlockAttempts.size()));
  bytes = sizeof(address);
  ::getsockname(socket.get(), name, &bytes);
  return socket;
}

}  // namespace

// In the order of kLandlockAttempts.
const std::array<LandlockTrial::Try, kLandlockAttempts.size()> LandlockTrial::kTries = {
    [](const TrialTarget&) { return OpenFile("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC); },
    [](const TrialTarget&) { return OpenFile(kFile, O_RDONLY | O_CLOEXEC); },
    [](const TrialTarget&) { return OpenFile(kFile, O_WRONLY | O_CLOEXEC); },
    [](const TrialTarget&) { return OpenFile(kFile, O_RDWR | O_CLOEXEC); },
    [](const TrialTarget& target) {
      const int outcome = OpenFile(target.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
      if (outcome == 0) ::unlink(target.path);
      return outcome;
    },
    [](const TrialTarget& target) {
      const int outcome = ResultOf(::mkdir(target.path, 0700));
      if (outcome == 0) ::rmdir(target.path);
      return outcome;
    },
    [](const TrialTarget&) { return ReadParent(); },
    [](const TrialTarget& target) { return ResultOf(::truncate(target.name_file, 0)); },
    [](const TrialTarget&) { return BindTcp(); },
    [](const TrialTarget&) { return ConnectTcp(); },
    [](const TrialTarget& target) {
      const posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      return ResultOf(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target.address),
                                target.address_bytes));
    },
    [](const TrialTarget& target) { return ResultOf(::kill(target.daemon, 0)); },
};

// The file with a process's name is a regular one that its user may truncate, without any effect.
LandlockTrial::LandlockTrial(const AttemptTarget& target, LandlockOutcomes& outcomes)
    : outcomes_(outcomes) {
  target_.daemon = target.daemon;
  std::snprintf(target_.name_file, sizeof(target_.name_file), "/proc/%d/comm", ::getppid());
  std::snprintf(target_.path, sizeof(target_.path), "%s/.penstock-probe-%d", target.folder,
                ::getpid());
  target_.listener = Listen(target_.address, target_.address_bytes);
}

void LandlockTrial::TryOutside() {
  for (size_t i = 0; i < kTries.size(); ++i) succeeds_[i] = kTries[i](target_) == 0;
}

void LandlockTrial::TryInside(int version) {
  for (size_t i = 0; i < kTries.size(); ++i) {
    if (!succeeds_[i] || version < kLandlockAttempts[i].since) continue;
    const int outcome = kTries[i](target_);
    // /proc may hide processes outside the domain (hidepid), so that the path no longer exists.
    outcomes_[i].store(outcome == ENOENT ? kNotTried : outcome);
  }
}

}  // namespace penstock::sandbox
