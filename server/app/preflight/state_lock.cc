#include "server/app/preflight/state_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/telemetry/log.h"
#include "server/source/state/state_file.h"

namespace penstock::app {
namespace {

using doorway::ClaimPurpose;

// A daemon that was killed may still hold the lock after it has lost its address.
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kPause(10);

// As the kernel lists it. Some file systems have other device numbers there than fstat gives. 0:
// unknown.
pid_t FindHolder(const posix::Fd& file) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return 0;
  const std::string inode =
      absl::StrFormat("%02x:%02x:%d", major(facts.st_dev), minor(facts.st_dev), facts.st_ino);
  std::ifstream locks("/proc/locks");  // 1: FLOCK ADVISORY WRITE 4711 fd:00:1234 0 EOF
  for (std::string line; std::getline(locks, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int pid = 0;
    if (words.size() > 5 && words[1] == "FLOCK" && words[5] == inode &&
        absl::SimpleAtoi(words[4], &pid))
      return pid;
  }
  return 0;
}

// The file is empty if the disk was full. 0: unknown.
pid_t ReadHolder(const posix::Fd& file) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(file.get(), text.data(), text.size() - 1, 0);
  int pid = 0;
  return got > 0 && absl::SimpleAtoi(text.data(), &pid) ? pid : FindHolder(file);
}

void WriteHolder(const posix::Fd& file) {
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(file.get(), 0) == 0) (void)!::pwrite(file.get(), pid.data(), pid.size(), 0);
}

// Whether a file could be written in the folder, or in the nearest one above it that exists. Leaves
// nothing: the file has no name.
absl::Status TryToWrite(std::string folder) {
  while (folder != "/" && ::access(folder.c_str(), F_OK) != 0 && errno == ENOENT)
    folder.resize(std::max<size_t>(folder.rfind('/'), 1));
  const posix::Fd file(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.valid() && errno == EOPNOTSUPP) return absl::OkStatus();
  constexpr char kBlock[4096] = {};
  const ssize_t written = file.valid() ? ::write(file.get(), kBlock, sizeof(kBlock)) : -1;
  if (written == sizeof(kBlock)) return absl::OkStatus();
  return base::ErrnoStatus(written < 0 ? errno : ENOSPC, absl::StrCat("writing in ", folder));
}

// Invalid for a trial if no daemon has made it yet.
absl::StatusOr<posix::Fd> OpenLock(const std::string& folder, const ClaimPurpose& purpose) {
  if (!purpose.is_trial) PENSTOCK_RETURN_IF_ERROR(source::MakeFolders(folder));
  const std::string path = folder + "/lock";
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (purpose.is_trial ? 0 : O_CREAT);
  posix::Fd file(::open(path.c_str(), flags, 0600));
  if (file.valid() || (purpose.is_trial && errno == ENOENT)) return file;
  return base::ErrnoStatus(errno, path);
}

absl::StatusOr<posix::Fd> Lock(const std::string& folder, const ClaimPurpose& purpose) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd file, OpenLock(folder, purpose));
  if (!file.valid()) return file;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (!purpose.is_trial) WriteHolder(file);
      return file;
    }
    if (errno != EWOULDBLOCK) return base::ErrnoStatus(errno, absl::StrCat("locking ", folder));
    if (purpose.replaced > 0 && ReadHolder(file) == purpose.replaced) return posix::Fd();
    std::this_thread::sleep_for(kPause);
  }
  const pid_t holder = ReadHolder(file);
  return absl::AlreadyExistsError(
      absl::StrCat("a daemon (pid ", holder > 0 ? absl::StrCat(holder) : "?", ") already uses ",
                   folder, "; stop it or give this one another folder"));
}

absl::Status CheckIsFolder(const std::string& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(folder, " is not a folder; remove it, or name a folder"));
}

// Who uses the folder matters more than whether it can be written.
absl::StatusOr<posix::Fd> LockOrTry(const std::string& folder, const ClaimPurpose& purpose) {
  PENSTOCK_RETURN_IF_ERROR(CheckIsFolder(folder));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd file, Lock(folder, purpose));
  if (purpose.is_trial) PENSTOCK_RETURN_IF_ERROR(TryToWrite(folder));
  return file;
}

// On a thread of its own, which may be left behind: the storage may be far away.
absl::StatusOr<posix::Fd> LockWithin(base::Duration patience, const std::string& folder,
                                     const ClaimPurpose& purpose) {
  const auto answer = std::make_shared<std::promise<absl::StatusOr<posix::Fd>>>();
  std::future<absl::StatusOr<posix::Fd>> locked = answer->get_future();
  std::thread([answer, folder, purpose] {
    pthread_setname_np(pthread_self(), "state-lock");
    answer->set_value(LockOrTry(folder, purpose));
  }).detach();
  if (locked.wait_for(patience) == std::future_status::ready) return locked.get();
  return absl::DeadlineExceededError(absl::StrCat(folder, ": no answer"));
}

}  // namespace

absl::StatusOr<StateLock> StateLock::Take(const std::string& folder, const ClaimPurpose& purpose,
                                          base::Duration patience) {
  absl::StatusOr<posix::Fd> locked = LockWithin(patience, folder, purpose);
  if (locked.ok()) return StateLock(*std::move(locked));
  if (absl::IsAlreadyExists(locked.status()) || absl::IsFailedPrecondition(locked.status()))
    return locked.status();
  PENSTOCK_LOG(kWarning, "state_dir_not_locked", {"reason", locked.status().message()});
  return StateLock(posix::Fd());
}

}  // namespace penstock::app
