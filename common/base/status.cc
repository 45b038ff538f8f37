#include "common/base/status.h"

#include <cerrno>
#include <cstring>

namespace penstock::base {
namespace {

absl::StatusCode ToCode(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EAGAIN:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    case EPIPE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EIO:
    case ESTALE:
    case EBUSY:
      return absl::StatusCode::kUnavailable;
    case ETIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case ELOOP:
    case EISDIR:
    case EROFS:
    case ENXIO:
    case ENODEV:
      return absl::StatusCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

absl::Status ErrnoStatus(int error_number, absl::string_view what, absl::string_view remedy) {
  std::string text = absl::StrCat(what, ": ", std::strerror(error_number));
  if (remedy.empty() && (error_number == EMFILE || error_number == ENFILE))
    remedy = "raise the limit of open files (LimitNOFILE, ulimit -n)";
  if (!remedy.empty()) absl::StrAppend(&text, "; ", remedy);
  return absl::Status(ToCode(error_number), text);
}

}  // namespace penstock::base
