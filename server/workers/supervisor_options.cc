#include "server/workers/supervisor_options.h"

#include "server/workers/queue/channel.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

absl::Status ValidateCount(uint32_t count) {
  if (count <= kMaxWorkers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(count, " workers; the maximum is ", kMaxWorkers));
}

absl::Status Validate(const SupervisorOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(ValidateCount(options.count));
  if (options.read_ahead + 1 > kRingCapacity) {
    return absl::InvalidArgumentError(absl::StrCat(
        "read-ahead of ", options.read_ahead, "; at most ", kRingCapacity - 1, " are possible"));
  }
  if (options.arena_bytes < options.limits.max_bytes || options.arena_bytes % kPage != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input memory of ", options.arena_bytes, " bytes a worker; a multiple of ", kPage,
        " is needed, and at least the largest file's ", options.limits.max_bytes, " bytes"));
  }
  if (options.sample_timeout <= base::Duration::zero() ||
      options.start_timeout <= base::Duration::zero()) {
    return absl::InvalidArgumentError(
        "a time-out of 0 for a sample or for a worker's start; it must be positive");
  }
  return absl::OkStatus();
}

}  // namespace penstock::workers
