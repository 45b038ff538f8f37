#include "server/source/files/read_exactly.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock::source {

absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into) {
  for (size_t at = 0; at < into.size();) {
    const ssize_t count =
        ::pread(file.get(), into.data() + at, into.size() - at, static_cast<off_t>(offset + at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, absl::StrCat("reading '", path, "'"));
    if (count == 0)
      return absl::DataLossError(absl::StrCat("'", path, "' is truncated: it ends at byte ",
                                              offset + at, ", wanted ", offset + into.size()));
    at += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::byte>> ReadBeginning(const posix::Fd& file, const std::string& path,
                                                     uint64_t file_bytes, size_t most) {
  std::vector<std::byte> begin(std::min<uint64_t>(most, file_bytes));
  PENSTOCK_RETURN_IF_ERROR(ReadExactly(file, path, 0, begin));
  return begin;
}

}  // namespace penstock::source
