#include "client/ctl/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/table.h"

namespace penstock::ctl {
namespace {

namespace fs = std::filesystem;

struct Written {
  uint64_t lines = 0, dropped = 0;
};

absl::StatusOr<Written> Write(AdminClient& daemon, uint32_t milliseconds, std::ostream& to) {
  Written written;
  const absl::Status status = daemon.GetTrace(milliseconds, [&](const v1::GetTraceResponse& piece) {
    to << piece.text();
    written.lines +=
        static_cast<uint64_t>(std::count(piece.text().begin(), piece.text().end(), '\n'));
    written.dropped = piece.dropped();
  });
  PENSTOCK_RETURN_IF_ERROR(status);
  return written;
}

absl::Status CannotWrite(const std::string& file, int error) {
  return base::ErrnoStatus(error == 0 ? EIO : error, absl::StrCat("writing '", file, "'"),
                           "give -o a file in a folder that you can write to");
}

// Also to a place where there is nothing yet. A circle of links stays as it is.
std::string FollowLinks(const std::string& name) {
  constexpr int kMost = 40;  // as the kernel
  fs::path path = name;
  std::error_code none;
  for (int i = 0; i < kMost && fs::is_symlink(path, none); ++i)
    path = path.parent_path() / fs::read_symlink(path, none);
  return path;
}

// A file that appears under its name once it is whole, and keeps the permissions of the one that it
// replaces. What is no regular file, such as a pipe, is written to as it is.
class TraceFile {
 public:
  explicit TraceFile(const std::string& name) : name_(name), to_(FollowLinks(name)) {
    std::error_code none;
    const fs::file_status found = fs::status(to_, none);
    in_place_ = fs::exists(found) && !fs::is_regular_file(found) && !fs::is_directory(found);
    if (fs::is_regular_file(found)) mode_ = found.permissions();
    written_ = in_place_ ? to_ : absl::StrCat(to_, ".unfinished");
  }

  absl::Status Open() {
    errno = 0;
    stream_.open(written_, std::ios::binary | std::ios::trunc);
    if (!stream_) return CannotWrite(written_, errno);
    std::error_code none;
    if (mode_) fs::permissions(written_, *mode_, none);
    return absl::OkStatus();
  }
  std::ostream& stream() { return stream_; }

  absl::Status Finish() {
    errno = 0;
    stream_.close();
    if (stream_ && in_place_) return absl::OkStatus();
    if (stream_ && std::rename(written_.c_str(), to_.c_str()) == 0) return absl::OkStatus();
    const int error = errno;
    Abandon();
    return CannotWrite(name_, error);
  }
  void Abandon() {
    if (!in_place_) std::remove(written_.c_str());
  }

 private:
  const std::string name_;
  const std::string to_;
  std::string written_;
  bool in_place_ = false;
  std::optional<fs::perms> mode_;
  std::ofstream stream_;
};

absl::StatusOr<Written> WriteToFile(AdminClient& daemon, const Call& call) {
  TraceFile file(call.file);
  PENSTOCK_RETURN_IF_ERROR(file.Open());
  const absl::StatusOr<Written> written = Write(daemon, call.trace_ms, file.stream());
  if (!written.ok()) {
    file.Abandon();
    return written;
  }
  PENSTOCK_RETURN_IF_ERROR(file.Finish());
  return written;
}

absl::StatusOr<Written> WriteToOutput(AdminClient& daemon, const Call& call, std::ostream& out) {
  const absl::StatusOr<Written> written = Write(daemon, call.trace_ms, out);
  errno = 0;
  if (written.ok() && !out.flush()) return CannotWrite("standard output", errno);
  return written;
}

}  // namespace

absl::StatusOr<int> WriteTrace(AdminClient& daemon, const Call& call, std::ostream& out,
                               std::ostream& said) {
  const bool to_file = call.file != "-";
  const absl::StatusOr<Written> written =
      to_file ? WriteToFile(daemon, call) : WriteToOutput(daemon, call, out);
  PENSTOCK_RETURN_IF_ERROR(written.status());
  said << absl::StreamFormat(
      "%s: %s events of %g s; open it at https://ui.perfetto.dev or "
      "chrome://tracing\n",
      to_file ? call.file : "standard output", Count(std::max<uint64_t>(written->lines, 2) - 2),
      call.trace_ms / 1000.0);
  if (written->dropped > 0)
    said << Count(written->dropped)
         << " more events were left out because there were too many; a shorter "
         << "trace contains all\n";
  return 0;
}

}  // namespace penstock::ctl
