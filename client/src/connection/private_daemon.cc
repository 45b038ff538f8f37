#include "client/src/connection/private_daemon.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/src/connection/detached.h"
#include "client/src/connection/file_view.h"
#include "client/src/connection/program.h"
#include "common/posix/fd.h"
#include "common/posix/process.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"

namespace penstock::client {
namespace {

constexpr base::Duration kPause = std::chrono::milliseconds(10);

std::string PrivateDirectory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  struct stat status;
  if (runtime != nullptr && *runtime == '/' && ::stat(runtime, &status) == 0) {
    return absl::StrCat(runtime, "/penstock");
  }
  return absl::StrCat("/tmp/penstock-", ::getuid());
}

// Creates the directory, or checks that an existing one is ours and closed to others: in /tmp
// another user may have created it.
absl::Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::ErrnoStatus(errno, absl::StrCat("creating the private daemon's directory ", path));
  }
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return base::ErrnoStatus(errno, path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::getuid() || (status.st_mode & 0077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " must be a directory of yours with mode 0700; it belongs to user ",
                     status.st_uid, " with mode 0", absl::Hex(status.st_mode >> 6 & 7),
                     absl::Hex(status.st_mode >> 3 & 7), absl::Hex(status.st_mode & 7),
                     "; remove it, or set XDG_RUNTIME_DIR to a directory of yours"));
  }
  return absl::OkStatus();
}

// Whether both sockets accept connections.
bool Answers(const std::string& address) {
  return posix::Connect(absl::StrCat(address, shm::kDoorwaySuffix), posix::SocketKind::kSeqPacket)
             .ok() &&
         posix::Connect(address, posix::SocketKind::kStream).ok();
}

// Whether a daemon that does not answer holds the address's lock: it is starting or ending.
bool IsHeld(const std::string& address) {
  const std::string path = absl::StrCat(address, ".lock");
  const posix::Fd lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock.valid() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::string LastLine(const std::string& path) {
  std::ifstream log(path);
  std::string line, last;
  while (std::getline(log, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

absl::Status NotAnswering(absl::string_view what, const std::string& log) {
  const std::string last = LastLine(log);
  return absl::UnavailableError(
      absl::StrCat("the private daemon ", what, "; ",
                   last.empty() ? absl::StrCat("its log ", log, " is empty")
                                : absl::StrCat("the last line of its log ", log, " is: ", last)));
}

// Starts the daemon and waits for its answer, while the caller holds the start lock. A daemon that
// ends for lack of clients keeps its address until it exits, so this waits for it.
absl::Status StartAndWait(const std::string& directory, const std::string& address,
                          base::TimePoint deadline) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string program, FindDaemonProgram());
  const std::string log = absl::StrCat(directory, "/penstockd.log");
  posix::Fd daemon;
  for (bool started = false; !Answers(address); std::this_thread::sleep_for(kPause)) {
    const bool runs = started && daemon.valid() && !posix::IsGone(daemon);
    const bool is_held = !runs && IsHeld(address);
    if (!runs && !is_held) {
      if (started) return NotAnswering("ended at once", log);
      PENSTOCK_RETURN_IF_ERROR(WriteFileView(directory));
      PENSTOCK_ASSIGN_OR_RETURN(daemon, StartDetached({program, "--private", directory}, log));
      started = true;
    } else if (is_held) {
      started = false;  // ours may have exited because one that is ending still held the address
    }
    if (base::Now() >= deadline) return NotAnswering("does not answer", log);
  }
  return absl::OkStatus();
}

std::string AddressIn(const std::string& directory) {
  return absl::StrCat(directory, "/penstock.sock");
}

// Joins the daemon of this directory, or starts one there.
absl::StatusOr<std::string> StartIn(const std::string& directory, base::TimePoint deadline) {
  const std::string address = AddressIn(directory);
  PENSTOCK_RETURN_IF_ERROR(MakeDirectory(directory));
  const std::string path = absl::StrCat(directory, "/start.lock");
  const posix::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return base::ErrnoStatus(errno, absl::StrCat("opening ", path));
  for (;;) {
    if (Answers(address)) return address;
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) break;
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return base::ErrnoStatus(errno, absl::StrCat("locking ", path));
    }
    if (base::Now() >= deadline) {
      return NotAnswering("is being started by another process but does not answer",
                          absl::StrCat(directory, "/penstockd.log"));
    }
    std::this_thread::sleep_for(kPause);
  }
  // The previous holder of the lock may have started it since we last looked.
  if (!Answers(address)) PENSTOCK_RETURN_IF_ERROR(StartAndWait(directory, address, deadline));
  return address;
}

}  // namespace

bool IsPrivateAddress(const std::string& address) {
  const std::string directory = PrivateDirectory();
  return address == AddressIn(directory) ||
         address == AddressIn(absl::StrCat(directory, "-", FileViewName()));
}

absl::StatusOr<std::string> StartPrivateDaemon(base::Duration timeout) {
  const base::TimePoint deadline = base::Now() + timeout;
  const std::string directory = PrivateDirectory();
  PENSTOCK_ASSIGN_OR_RETURN(const std::string address, StartIn(directory, deadline));
  if (!HasOtherFileView(directory)) return address;
  return StartIn(absl::StrCat(directory, "-", FileViewName()), deadline);
}

}  // namespace penstock::client
