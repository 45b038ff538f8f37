#include "client/src/session/undecodable_reports.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

namespace penstock::client {
namespace {

constexpr base::Duration kTimeout = std::chrono::seconds(1);
constexpr size_t kMostInACall = 4096;

}  // namespace

void UndecodableReports::Send(const Attachment& attachment) {
  std::vector<uint64_t> samples;
  {
    const base::MutexLock lock(mutex_);
    samples.assign(noted_.begin(), noted_.end());
    noted_.clear();
  }
  std::span<const uint64_t> rest = samples;
  while (!rest.empty()) {
    const std::span<const uint64_t> part = rest.first(std::min(rest.size(), kMostInACall));
    if (!attachment.ReportUndecodable(part, kTimeout).ok()) return;
    {
      const base::MutexLock lock(mutex_);
      reported_.insert(part.begin(), part.end());
    }
    rest = rest.subspan(part.size());
  }
}

}  // namespace penstock::client
