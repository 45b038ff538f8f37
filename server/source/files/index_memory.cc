#include "server/source/files/index_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "common/posix/machine.h"

namespace penstock::source {
namespace {

constexpr uint64_t kMeasureEvery = 16 * base::kMiB;

}  // namespace

absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path) {
  if (bytes <= kAlwaysAllowed) return absl::OkStatus();
  return CheckIndexMemory(bytes, path, posix::ReadMachine().Memory());
}

absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path, uint64_t available) {
  if (bytes <= kAlwaysAllowed || bytes <= available / 2) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("'", path, "': opening its dataset takes ", base::FormatBytes(bytes),
                   " of the daemon's memory, more than half of the ", base::FormatBytes(available),
                   " that the machine and the daemon's cgroups leave; raise the memory limit, or "
                   "divide the file or the dataset"));
}

IndexMemory::IndexMemory() : IndexMemory([] { return posix::ReadMachine().Memory(); }) {}

absl::Status IndexMemory::Take(uint64_t more, absl::string_view path) {
  const base::MutexLock lock(mutex_);
  const uint64_t wanted = taken_ + more;
  if (wanted > allowed_) {
    // What is taken already is missing from what is left now.
    const uint64_t available = available_() + taken_;
    PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(wanted, path, available));
    allowed_ = std::max(wanted, std::min(available / 2, wanted + kMeasureEvery));
  }
  taken_ = wanted;
  return absl::OkStatus();
}

void IndexMemory::GiveBack(uint64_t bytes) {
  const base::MutexLock lock(mutex_);
  taken_ -= bytes;
}

}  // namespace penstock::source
