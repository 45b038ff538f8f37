#include "server/source/state/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "common/posix/failpoint.h"
#include "common/posix/fd.h"

namespace penstock::source {
namespace {

constexpr size_t kStep = size_t{1} << 20;

std::string Quoted(const std::string& path) { return absl::StrCat("'", path, "'"); }

absl::StatusOr<posix::Fd> OpenFile(const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) return posix::Fd(fd);
    if (errno != EINTR) return base::ErrnoStatus(errno, Quoted(path));
  }
}

absl::Status WriteAll(const posix::Fd& fd, std::span<const std::byte> bytes, const Step& step) {
  PENSTOCK_FAILPOINT_RETURN("state.before_write");
  while (!bytes.empty()) {
    step();
    const ssize_t count = ::write(fd.get(), bytes.data(), std::min(bytes.size(), kStep));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, "writing");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  step();
  PENSTOCK_FAILPOINT_RETURN("state.before_sync");
  if (::fsync(fd.get()) != 0) return base::ErrnoStatus(errno, "syncing");
  return absl::OkStatus();
}

// Returns the file. It is locked while it is open, so that others see that its writer is alive.
absl::StatusOr<posix::Fd> WriteTo(const std::string& path, std::span<const std::byte> bytes,
                                  const Step& step) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
  ::flock(fd.get(), LOCK_EX | LOCK_NB);
  PENSTOCK_RETURN_IF_ERROR(base::Annotate(WriteAll(fd, bytes, step), Quoted(path)));
  return fd;
}

// Removes files that killed processes left beside this one.
void RemoveAbandoned(const std::string& path) {
  const std::string others = absl::StrCat(path, ".new."),
                    ours = absl::StrCat(others, ::getpid(), ".");
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().string();
    if (!name.starts_with(others) || name.starts_with(ours)) continue;
    const auto fd = OpenFile(name, O_RDONLY);
    if (fd.ok() && ::flock(fd->get(), LOCK_EX | LOCK_NB) == 0) ::unlink(name.c_str());
  }
}

// Makes the rename survive a power failure. File systems that cannot sync folders are tolerated.
void SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  if (auto fd = OpenFile(folder, O_RDONLY | O_DIRECTORY); fd.ok()) ::fsync(fd->get());
}

}  // namespace

absl::Status MakeFolders(const std::string& folder) {
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return base::ErrnoStatus(errno, absl::StrCat("making the folder ", Quoted(part)));
    if (end == std::string::npos) return absl::OkStatus();
  }
}

absl::Status WriteStateFile(const std::string& path, std::span<const std::byte> bytes,
                            const Step& step) {
  static std::atomic<uint64_t> next{0};  // several threads may write the same file
  const std::string aside = absl::StrCat(path, ".new.", ::getpid(), ".", ++next);
  ::unlink(aside.c_str());  // left by an earlier process with our pid
  step();
  RemoveAbandoned(path);
  const absl::StatusOr<posix::Fd> written = WriteTo(aside, bytes, step);
  absl::Status status = written.status();
  step();
  PENSTOCK_FAILPOINT("state.before_rename");
  if (status.ok() && std::rename(aside.c_str(), path.c_str()) != 0)
    status = base::ErrnoStatus(errno, absl::StrCat("renaming to ", Quoted(path)));
  if (!status.ok()) {
    ::unlink(aside.c_str());
    return status;
  }
  step();
  PENSTOCK_FAILPOINT("state.after_rename");
  SyncFolderOf(path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadStateFile(const std::string& path, size_t max_bytes,
                                          const Step& step) {
  RemoveAbandoned(path);
  step();
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd fd, OpenFile(path, O_RDONLY));
  std::string bytes;
  char buffer[64 * 1024];
  for (;;) {
    step();
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, absl::StrCat("reading ", Quoted(path)));
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
    if (bytes.size() > max_bytes)
      return absl::ResourceExhaustedError(
          absl::StrCat(Quoted(path), " has more than ", max_bytes, " bytes"));
  }
}

absl::StatusOr<posix::Mapping> ReadStateMemory(const std::string& path, size_t min_bytes,
                                               const Step& step) {
  RemoveAbandoned(path);
  step();
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd fd, OpenFile(path, O_RDONLY));
  step();
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(fd));
  const auto cut_off = [&] {
    return absl::DataLossError(absl::StrCat(Quoted(path), " is cut off"));
  };
  if (bytes < min_bytes || bytes == 0) return cut_off();
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory, posix::MakeMemory("penstock-state", bytes));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite));
  for (size_t at = 0; at < bytes;) {
    step();
    const ssize_t count = ::read(fd.get(), mapping.data() + at, std::min(bytes - at, kStep));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, absl::StrCat("reading ", Quoted(path)));
    if (count == 0) return cut_off();
    at += static_cast<size_t>(count);
  }
  return mapping;
}

}  // namespace penstock::source
