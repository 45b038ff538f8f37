#include "client/src/connection/address.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/src/connection/file_view.h"
#include "common/posix/socket.h"

namespace penstock::client {
namespace {

constexpr absl::string_view kSocket = "penstock.sock";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Another user may have created the directory first, where all users may write (/tmp).
absl::Status CheckOurs(const std::string& directory, uid_t user) {
  struct stat status;
  if (::lstat(directory.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::NotFoundError("no such directory")
                           : base::ErrnoStatus(errno, "lstat");
  }
  const unsigned mode = status.st_mode & 07777;
  if (S_ISDIR(status.st_mode) && status.st_uid == user && mode == 0700) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrFormat(
      "%s is not a directory of user %d with mode 0700 (user %d, mode %04o); remove it", directory,
      user, status.st_uid, mode));
}

absl::Status Knock(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return absl::FailedPreconditionError("this is not a socket");
  } else if (errno == ENOENT) {
    return absl::NotFoundError("no such file");
  }
  const auto socket = posix::Connect(path, posix::SocketKind::kStream);
  if (socket.ok()) return absl::OkStatus();
  if (!absl::IsUnavailable(socket.status())) return socket.status();
  return absl::NotFoundError("nobody listens there");
}

absl::StatusOr<std::string> TheOne(absl::string_view path, absl::string_view given_by) {
  absl::ConsumePrefix(&path, "unix:");
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat(
        given_by, " '", path, "' is not an absolute path; give the path of the daemon's socket"));
  }
  const absl::Status answer = Knock(std::string(path));
  if (answer.ok()) return std::string(path);
  return absl::Status(
      answer.code(),
      absl::StrCat("no daemon at ", path, absl::IsNotFound(answer) ? " yet" : "", " (", given_by,
                   "): ", answer.message(), "; start penstockd there, or give another address"));
}

class Search {
 public:
  // Returns true if a daemon answers; otherwise records the reason.
  bool Try(const std::string& path, const absl::Status& allowed = absl::OkStatus()) {
    const absl::Status answer = allowed.ok() ? Knock(path) : allowed;
    if (answer.ok()) return true;
    Skip(path, answer.message());
    forbidden_ |= absl::IsPermissionDenied(answer);
    return false;
  }
  void Skip(absl::string_view place, absl::string_view why) {
    looked_.push_back(absl::StrCat(place, " (", why, ")"));
  }
  absl::Status Failure() const {
    return absl::Status(
        forbidden_ ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kNotFound,
        absl::StrCat("no daemon found; looked at $PENSTOCK_ADDRESS (not set), ",
                     absl::StrJoin(looked_, ", "),
                     "; start penstockd, or give its address or set $PENSTOCK_ADDRESS"));
  }

 private:
  std::vector<std::string> looked_;
  bool forbidden_ = false;
};

// Tries the private daemon of a directory. If the daemon there sees other files than we do, ours is
// in another directory beside it (private_daemon.h).
bool TryPrivate(Search& search, const std::string& directory, std::string& found,
                const absl::Status& allowed = absl::OkStatus()) {
  const std::string ours = absl::StrCat(directory, "-", FileViewName(), "/", kSocket);
  const std::string usual = absl::StrCat(directory, "/", kSocket);
  if (!HasOtherFileView(directory)) {
    found = usual;
    return search.Try(usual, allowed);
  }
  search.Skip(usual, "its daemon sees other files: it runs in another mount namespace");
  found = ours;
  return search.Try(ours, allowed);
}

// The daemon greets a peer that it accepts as an operator, and hangs up on all others.
bool TakesUsForOperators(const std::string& path) {
  const absl::StatusOr<bool> hangs_up = posix::HangsUpAtOnce(path);
  return hangs_up.ok() && !*hangs_up;
}

// The operators' socket that belongs to a trainers' socket, unless the daemon is configured
// otherwise.
std::string OperatorsSocketOf(const std::string& trainers) {
  return absl::StrCat(trainers.substr(0, trainers.rfind('/')), "-admin/admin.sock");
}

}  // namespace

Surroundings OurSurroundings() {
  return {.penstock_address = Variable("PENSTOCK_ADDRESS"),
          .xdg_runtime_dir = Variable("XDG_RUNTIME_DIR"),
          .user = ::geteuid()};
}

absl::StatusOr<std::string> FindDaemon(const std::string& argument) {
  return FindDaemon(argument, OurSurroundings());
}

absl::StatusOr<std::string> FindDaemon(const std::string& argument, const Surroundings& around) {
  if (!argument.empty()) return TheOne(argument, "the address given");
  if (!around.penstock_address.empty()) {
    return TheOne(around.penstock_address, "$PENSTOCK_ADDRESS");
  }
  Search search;
  const std::string of_system = absl::StrCat(around.system_directory, "/penstock/", kSocket);
  if (search.Try(of_system)) return of_system;

  std::string found;
  if (around.xdg_runtime_dir.empty()) {
    search.Skip("$XDG_RUNTIME_DIR", "not set");
  } else {
    if (TryPrivate(search, absl::StrCat(around.xdg_runtime_dir, "/penstock"), found)) return found;
  }

  const std::string ours = absl::StrCat(around.temporary_directory, "/penstock-", around.user);
  if (TryPrivate(search, ours, found, CheckOurs(ours, around.user))) return found;
  return search.Failure();
}

absl::StatusOr<std::string> FindDaemonToOperate(const std::string& argument) {
  return FindDaemonToOperate(argument, OurSurroundings());
}

absl::StatusOr<std::string> FindDaemonToOperate(const std::string& argument,
                                                const Surroundings& around) {
  const std::string& named = argument.empty() ? around.penstock_address : argument;
  if (named.empty()) {
    const std::string of_system =
        absl::StrCat(around.system_directory, "/penstock-admin/admin.sock");
    if (TakesUsForOperators(of_system)) return of_system;
  } else {
    absl::string_view path = named;
    absl::ConsumePrefix(&path, "unix:");
    const std::string operators = OperatorsSocketOf(std::string(path));
    if (!path.empty() && path[0] == '/' && TakesUsForOperators(operators)) return operators;
  }
  return FindDaemon(argument, around);
}

}  // namespace penstock::client
