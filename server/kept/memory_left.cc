#include "server/kept/memory_left.h"

#include "common/telemetry/log.h"

namespace penstock::kept {
namespace {

constexpr base::Duration kPause = std::chrono::seconds(1);

}  // namespace

bool MemoryLeft::IsEnoughFor(uint64_t bytes) {
  if (!ask_ || bytes <= granted_) return true;
  const base::MutexLock lock(mutex_);
  if (bytes <= granted_) return true;
  if (base::Now() < again_) return false;
  const uint64_t left = ask_();
  const bool is_enough = left >= kReserve + kStep;
  if (is_enough) {
    granted_ = bytes + kStep;
  } else {
    again_ = base::Now() + kPause;
    if (was_enough_)
      PENSTOCK_LOG(kWarning, "memory_for_kept_rows_ends", {"left", base::FormatBytes(left)},
                   {"reserve", base::FormatBytes(kReserve)});
  }
  was_enough_ = is_enough;
  return is_enough;
}

}  // namespace penstock::kept
