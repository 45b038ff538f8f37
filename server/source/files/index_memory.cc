#include "server/source/files/index_memory.h"

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "common/posix/machine.h"

namespace penstock::source {
namespace {

constexpr uint64_t kAlwaysAllowed = 16 * base::kMiB;

}  // namespace

absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path) {
  if (bytes <= kAlwaysAllowed) return absl::OkStatus();
  return CheckIndexMemory(bytes, path, posix::ReadMachine().Memory());
}

absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path, uint64_t available) {
  if (bytes <= kAlwaysAllowed || bytes <= available / 2) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("'", path, "': opening it takes ", base::FormatBytes(bytes),
                   " of the daemon's memory, more than half of the ", base::FormatBytes(available),
                   " that the machine and the daemon's cgroups leave; raise the memory limit or "
                   "divide the file"));
}

}  // namespace penstock::source
