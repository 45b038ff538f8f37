#include "server/source/files/read_exactly.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock::source {

namespace {

constexpr size_t kMostAtOnce = 1 << 20;

std::atomic<ReadCounts*> g_counts = nullptr;

void NoteReading(uint32_t reading) {
  if (ReadCounts* const counts = g_counts.load()) counts->reading = reading;
}

}  // namespace

void CountReads(ReadCounts& counts) { g_counts = &counts; }

absl::StatusOr<size_t> ReadSome(const posix::Fd& file, const std::string& path, uint64_t offset,
                                std::span<std::byte> into) {
  ssize_t count;
  NoteReading(1);
  do {
    count = ::pread(file.get(), into.data(), std::min(into.size(), kMostAtOnce),
                    static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  NoteReading(0);
  if (count < 0) return base::ErrnoStatus(error, absl::StrCat("reading '", path, "'"));
  if (ReadCounts* const counts = g_counts.load()) counts->bytes += static_cast<uint64_t>(count);
  return static_cast<size_t>(count);
}

absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into) {
  for (size_t at = 0; at < into.size();) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t count,
                              ReadSome(file, path, offset + at, into.subspan(at)));
    if (count == 0)
      return absl::DataLossError(absl::StrCat("'", path, "' is truncated: it ends at byte ",
                                              offset + at, ", wanted ", offset + into.size()));
    at += count;
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
