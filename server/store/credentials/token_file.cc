#include "server/store/credentials/token_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/posix/fd.h"

namespace penstock::store {
namespace {

constexpr size_t kLargestToken = 64 << 10;

absl::Status NoToken(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("'", path, "': ", why, ", expected a token"));
}

}  // namespace

bool IsHeaderValue(const std::string& text) {
  return std::none_of(text.begin(), text.end(), absl::ascii_iscntrl);
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  const absl::StatusOr<posix::Fd> file = posix::OpenRegular(path);
  if (!file.ok())
    return absl::UnavailableError(
        absl::StrCat("a token cannot be read: ", file.status().message()));
  std::string text(kLargestToken + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < text.size();) {
    got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR)
      return absl::UnavailableError(base::ErrnoStatus(errno, path).message());
    if (got > 0) size += static_cast<size_t>(got);
  }
  if (size > kLargestToken) return NoToken(path, "more than 64 KiB");
  text.resize(size);
  absl::StripTrailingAsciiWhitespace(&text);
  if (text.empty()) return NoToken(path, "nothing");
  if (!IsHeaderValue(text)) return NoToken(path, "more than one line");
  return text;
}

}  // namespace penstock::store
