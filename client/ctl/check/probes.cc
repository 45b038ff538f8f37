#include "client/ctl/check/probes.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"

extern char** environ;

namespace penstock::ctl {
namespace {

// penstockd beside this program, else in $PATH.
std::string DaemonProgram() {
  std::array<char, 4096> own{};
  const ssize_t length = ::readlink("/proc/self/exe", own.data(), own.size() - 1);
  if (length > 0) {
    const std::string path(own.data(), static_cast<size_t>(length));
    std::string beside = path.substr(0, path.rfind('/')) + "/penstockd";
    if (::access(beside.c_str(), X_OK) == 0) return beside;
  }
  return "penstockd";
}

// Reads until the child closes its end; at most 64 KiB.
std::string ReadAll(const posix::Fd& from) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got; text.size() < (64u << 10);) {
    got = ::read(from.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

std::string Simd() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) return "AVX-512 VNNI";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
#endif
  return "";
}

absl::Status TryMemfd() {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory, posix::MakeMemory("penstock-check", 4096));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd view, posix::ReadOnlyView(memory));
  return posix::Mapping::Map(view, 4096, posix::Access::kReadOnly).status();
}

absl::Status TryPeerPidfd() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::ErrnoStatus(errno, "creating a pair of sockets");
  }
  const posix::Fd one(ends[0]);
  const posix::Fd other(ends[1]);
  return posix::PeerPidfd(one).status();
}

absl::Status TrySocketDirectory(const std::string& directory, uid_t user) {
  struct stat status;
  if (::lstat(directory.c_str(), &status) == 0) {
    const unsigned mode = status.st_mode & 07777;
    // The system's daemon has a user of its own; root may check on its behalf.
    const bool ours = status.st_uid == user || user == 0;
    if (S_ISDIR(status.st_mode) && ours && (mode & 022) == 0) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrFormat(
        "is not a directory of user %d that only this user can write to (user %d, mode "
        "%04o)",
        user, status.st_uid, mode));
  }
  if (errno != ENOENT) return base::ErrnoStatus(errno, "lstat");
  const std::string parent = directory.substr(0, directory.rfind('/'));
  if (::access(parent.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, absl::StrCat("cannot be created in ", parent));
}

absl::Status TryConfig(const std::string& file) {
  std::string program = DaemonProgram();
  std::string config = file;
  std::string option = "--check-config";
  char* const argv[] = {program.data(), option.data(), config.data(), nullptr};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoStatus(errno, "creating a pipe");
  const posix::Fd reading(ends[0]);
  posix::Fd writing(ends[1]);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return base::ErrnoStatus(error, absl::StrCat("running ", program, " to check ", file));
  }
  writing.Close();
  const std::string words = ReadAll(reading);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && words.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", absl::StripAsciiWhitespace(words)));
}

}  // namespace penstock::ctl
