#include "client/ctl/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/table.h"

namespace penstock::ctl {
namespace {

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

}  // namespace

// Writes to a temporary file first, so that a file under the final name is always complete.
absl::StatusOr<int> WriteTrace(AdminClient& daemon, const Call& call, std::ostream& out,
                               std::ostream& said) {
  const bool to_file = call.file != "-";
  const std::string unfinished = absl::StrCat(call.file, ".unfinished");
  std::ofstream file;
  if (to_file) {
    errno = 0;
    file.open(unfinished, std::ios::binary | std::ios::trunc);
    if (!file) return CannotWrite(unfinished, errno);
  }
  const absl::StatusOr<Written> written =
      Write(daemon, call.trace_ms, to_file ? static_cast<std::ostream&>(file) : out);
  if (to_file) {
    errno = 0;
    file.close();
    const bool whole =
        written.ok() && file && std::rename(unfinished.c_str(), call.file.c_str()) == 0;
    const int error = errno;
    if (!whole) std::remove(unfinished.c_str());
    PENSTOCK_RETURN_IF_ERROR(written.status());
    if (!whole) return CannotWrite(call.file, error);
  }
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
