#include "client/ctl/check/probes.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"

extern char** environ;

namespace penstock::ctl {
namespace {

// The folder of this program; "" if /proc is not mounted.
std::string OwnFolder() {
  std::array<char, 4096> own{};
  const ssize_t length = ::readlink("/proc/self/exe", own.data(), own.size() - 1);
  if (length <= 0) return "";
  const std::string path(own.data(), static_cast<size_t>(length));
  return path.substr(0, path.rfind('/'));
}

bool IsProgram(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// setpriv(1) with this identity.
std::vector<std::string> CommandAs(const Identity& who) {
  std::vector<std::string> command = {"setpriv", absl::StrCat("--reuid=", who.user),
                                      absl::StrCat("--regid=", who.group)};
  command.push_back(who.groups.empty() ? "--clear-groups"
                                       : absl::StrCat("--groups=", absl::StrJoin(who.groups, ",")));
  return command;
}

std::vector<std::string> CommandToCheck(const std::string& file,
                                        const std::optional<ProcessFacts>& running) {
  const std::string folder = OwnFolder();
  const std::string preflight = folder + "/../libexec/penstock/preflight";
  const bool is_root = ::geteuid() == 0;
  if (is_root && ::access("/run/systemd/system", F_OK) == 0 && IsProgram(preflight))
    return {preflight, file};
  std::vector<std::string> command;
  if (is_root && running && running->identity && running->identity->user != 0)
    command = CommandAs(*running->identity);
  const std::string beside = folder + "/penstockd";
  command.insert(command.end(), {IsProgram(beside) ? beside : "penstockd", "--check-config", file});
  if (running) command.insert(command.end(), {"--instead-of", absl::StrCat(running->pid)});
  return command;
}

// Logged warnings may come before it.
std::string LastLineOf(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const size_t before = text.rfind('\n');
  return std::string(before == absl::string_view::npos ? text : text.substr(before + 1));
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

absl::Status TryConfig(const std::string& file, const std::optional<ProcessFacts>& running) {
  std::vector<std::string> command = CommandToCheck(file, running);
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoStatus(errno, "creating a pipe");
  const posix::Fd reading(ends[0]);
  posix::Fd writing(ends[1]);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return base::ErrnoStatus(error, absl::StrCat("running ", command[0], " to check ", file));
  }
  writing.Close();
  const std::string words = ReadAll(reading);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(LastLineOf(words));
}

}  // namespace penstock::ctl
