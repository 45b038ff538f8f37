#include "server/doorway/address.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clock.h"
#include "common/posix/failpoint.h"
#include "common/posix/group.h"
#include "common/posix/process.h"
#include "common/shm/doorway_wire.h"

namespace penstock::doorway {
namespace {

absl::StatusOr<std::optional<gid_t>> GroupOf(const std::string& group) {
  if (group.empty()) return std::optional<gid_t>();
  auto found = posix::FindGroup(group);
  if (found.ok()) return std::optional<gid_t>(*found);
  return absl::InvalidArgumentError(absl::StrCat(
      found.status().message(), "; create it (groupadd --system ", group, ") or name another"));
}

absl::StatusOr<std::string> DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash + 1 == path.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is not a valid address; give the absolute path of a socket, ",
                     "like /run/penstock/penstock.sock"));
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status LetGroupEnter(const std::string& directory, gid_t group) {
  const posix::Fd fd(::open(directory.c_str(), O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC));
  if (fd.valid() && ::fchown(fd.get(), -1, group) == 0 && ::fchmod(fd.get(), 0750) == 0)
    return absl::OkStatus();
  return base::ErrnoStatus(errno,
                           absl::StrCat("giving the directory ", directory, " to group ", group),
                           "run the daemon as a member of that group");
}

// Creates the directory with its final group and mode before anybody else can enter it. It gets its
// name last: a daemon that is killed meanwhile leaves none behind that its group could never enter.
absl::Status TryToMakeDirectory(const std::string& directory, std::optional<gid_t> group) {
  const std::string aside = absl::StrCat(directory, ".new");
  ::rmdir(aside.c_str());  // of a daemon that was killed
  if (::mkdir(aside.c_str(), 0700) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("creating the directory ", directory),
                             "create it yourself or choose another address");
  PENSTOCK_FAILPOINT("address.folder_made");
  absl::Status made = group ? LetGroupEnter(aside, *group) : absl::OkStatus();
  if (made.ok() && ::rename(aside.c_str(), directory.c_str()) != 0)
    made = base::ErrnoStatus(errno, absl::StrCat("creating the directory ", directory));
  if (!made.ok()) ::rmdir(aside.c_str());
  return made;
}

// A directory that was made for a trial, until the trial has its claim.
class MadeDirectory {
 public:
  explicit MadeDirectory(std::string path = "") : path_(std::move(path)) {}
  MadeDirectory(MadeDirectory&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  MadeDirectory& operator=(MadeDirectory&&) = delete;
  ~MadeDirectory() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  std::string Take() { return std::exchange(path_, ""); }

 private:
  std::string path_;
};

// Others may be making it, too.
absl::StatusOr<MadeDirectory> MakeDirectory(const std::string& directory,
                                            std::optional<gid_t> group,
                                            const ClaimPurpose& purpose) {
  constexpr int kTries = 10;
  absl::Status made;
  for (int i = 0; i < kTries; ++i) {
    struct stat status;
    if (::lstat(directory.c_str(), &status) == 0) return MadeDirectory();
    made = TryToMakeDirectory(directory, group);
    if (made.ok()) return MadeDirectory(purpose.is_trial ? directory : "");
  }
  return made;
}

absl::Status CheckDirectory(const std::string& directory, std::optional<gid_t> group) {
  struct stat status;
  if (::lstat(directory.c_str(), &status) != 0) return base::ErrnoStatus(errno, directory);
  if (!S_ISDIR(status.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat(
        directory, " is ", S_ISLNK(status.st_mode) ? "a symbolic link" : "not a directory",
        "; remove it or choose another address"));
  }
  if (status.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(directory, " belongs to user ", status.st_uid, ", but this daemon runs as ",
                     "user ", ::geteuid(), "; choose a directory of its own"));
  }
  const unsigned mode = status.st_mode & 07777;
  if ((mode & 022) != 0) {
    return absl::PermissionDeniedError(
        absl::StrFormat("%s has mode %04o, so others could replace the socket; run: chmod go-w "
                        "%s, or choose a directory of its own",
                        directory, mode, directory));
  }
  const bool group_enters = status.st_gid == group && (mode & 010) != 0;
  if (group.has_value() && !group_enters && (mode & 001) == 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has group %d and mode %04o, so group %d cannot enter it; run: chgrp %d %s && "
        "chmod 0750 %s",
        directory, status.st_gid, mode, *group, *group, directory, directory));
  }
  return absl::OkStatus();
}

// Removes only a socket: anything else is not the daemon's.
void RemoveSocket(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(path.c_str());
}

struct flock WholeFile() {
  return {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
}

// Lets the kernel say which process holds the lock. The file stays empty: when a removed file is
// closed while its text is on the way to a disk, the kernel waits for the disk, which may be busy
// for a minute.
void NameHolder(const posix::Fd& lock) {
  struct flock whole = WholeFile();
  ::fcntl(lock.get(), F_SETLK, &whole);  // where there is none, the holder stays unknown
}

// 0: unknown.
pid_t HolderOf(const posix::Fd& lock) {
  struct flock whole = WholeFile();
  const bool is_named = ::fcntl(lock.get(), F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  return is_named ? std::max(whole.l_pid, 0) : 0;
}

absl::Status HeldByAnother(pid_t holder, const std::string& path) {
  if (holder > 0 && posix::StateOf(holder) == 'Z')
    return absl::AlreadyExistsError(
        absl::StrCat("the daemon that served ", path, " (pid ", holder, ") has not ended quite: a ",
                     "thread of it waits for storage that does not respond; make that respond, or ",
                     "give this one another address"));
  return absl::AlreadyExistsError(
      absl::StrCat("a daemon (pid ", holder > 0 ? absl::StrCat(holder) : "?", ") already serves ",
                   path, "; stop it or give this one another address"));
}

// Nothing but a socket is replaced.
absl::Status CheckIsFree(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(path, " exists and is not a socket; remove it or choose another address"));
}

// Whether the locked file still has that name. It doesn't if a daemon that stopped has removed it.
bool IsStillAt(const posix::Fd& lock, const std::string& lock_path) {
  struct stat held;
  struct stat named;
  return ::fstat(lock.get(), &held) == 0 && ::lstat(lock_path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

// Invalid if the daemon that will be replaced holds it. Waits for a second if another one does: a
// daemon that was killed keeps it until its memory has been unmapped.
absl::StatusOr<posix::Fd> TakeLock(const std::string& path, pid_t replaced) {
  const std::string lock_path = absl::StrCat(path, ".lock");
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kPause(20), kPatience(1000);
  const base::TimePoint until = base::Now() + kPatience;
  for (int i = 0; i < kTries; ++i) {
    posix::Fd lock(
        ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!lock.valid()) return base::ErrnoStatus(errno, absl::StrCat("opening ", lock_path));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK)
        return base::ErrnoStatus(errno, absl::StrCat("locking ", lock_path));
      const pid_t holder = HolderOf(lock);
      if (replaced > 0 && holder == replaced) return posix::Fd();
      if (base::Now() >= until) return HeldByAnother(holder, path);
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (!IsStillAt(lock, lock_path)) continue;
    NameHolder(lock);
    return lock;
  }
  return absl::AbortedError(
      absl::StrCat(lock_path, ": other daemons keep replacing it; try again"));
}

// Whether a socket for the group can be made there. It is of the doorway's kind, because trainers
// that lost a daemon may connect to it in that moment: they are then refused and come again.
absl::Status TryToListen(const std::string& path, std::optional<gid_t> group) {
  const absl::Status made = ListenForGroup(path, posix::SocketKind::kSeqPacket, group).status();
  if (made.ok()) ::unlink(path.c_str());
  return made;
}

}  // namespace

Claim::Claim(std::string path, std::optional<gid_t> group, posix::Fd lock, posix::Fd listener)
    : path_(std::move(path)),
      group_(group),
      lock_(std::move(lock)),
      listener_(std::move(listener)) {}

Claim::~Claim() {
  if (!lock_.valid()) return;  // moved from
  RemoveSockets();
  ::unlink(absl::StrCat(path_, ".lock").c_str());  // last, while the lock is still held
  if (!directory_.empty()) ::rmdir(directory_.c_str());
}

void Claim::RemoveSockets() {
  RemoveSocket(path_);
  RemoveSocket(door_path());
}

std::string Claim::door_path() const { return absl::StrCat(path_, shm::kDoorwaySuffix); }

absl::StatusOr<Claim> ClaimAddress(const std::string& path, const std::string& group,
                                   const ClaimPurpose& purpose) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<gid_t> gid, GroupOf(group));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string directory, DirectoryOf(path));
  PENSTOCK_ASSIGN_OR_RETURN(MadeDirectory made, MakeDirectory(directory, gid, purpose));
  PENSTOCK_RETURN_IF_ERROR(CheckDirectory(directory, gid));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd lock, TakeLock(path, purpose.replaced));
  PENSTOCK_FAILPOINT("address.locked");
  Claim claim(path, gid, std::move(lock), posix::Fd());
  if (!claim.is_held()) {
    // Beside those of the daemon that is to be replaced.
    PENSTOCK_RETURN_IF_ERROR(TryToListen(absl::StrCat(directory, "/.", ::getpid()), gid));
    return claim;
  }
  PENSTOCK_RETURN_IF_ERROR(CheckIsFree(claim.door_path()));
  PENSTOCK_ASSIGN_OR_RETURN(claim.listener_, ListenForGroup(path, posix::SocketKind::kStream, gid));
  PENSTOCK_RETURN_IF_ERROR(TryToListen(claim.door_path(), gid));  // the doorway does, later
  claim.directory_ = made.Take();
  return claim;
}

absl::StatusOr<posix::Fd> ListenForGroup(const std::string& path, posix::SocketKind kind,
                                         std::optional<gid_t> group) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd listener, posix::Listen(path, kind));
  PENSTOCK_FAILPOINT("address.bound");
  if (group.has_value() && ::lchown(path.c_str(), -1, *group) != 0) {
    const absl::Status status =
        base::ErrnoStatus(errno, absl::StrCat("giving ", path, " to group ", *group),
                          "run the daemon as a member of that group");
    ::unlink(path.c_str());
    return status;
  }
  return listener;
}

}  // namespace penstock::doorway
