#include "client/src/session/undecodable_reports.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

constexpr base::Duration kTimeout = std::chrono::seconds(1);
constexpr size_t kMostInACall = 4096;

}  // namespace

void UndecodableReports::Send(const Attachment& attachment) {
  const std::set<uint64_t> noted = std::exchange(noted_, {});
  const std::vector<uint64_t> samples(noted.begin(), noted.end());
  std::span<const uint64_t> rest = samples;
  while (!rest.empty()) {
    const std::span<const uint64_t> part = rest.first(std::min(rest.size(), kMostInACall));
    if (!attachment.ReportUndecodable(part, kTimeout).ok()) return;
    reported_.insert(part.begin(), part.end());
    rest = rest.subspan(part.size());
  }
}

}  // namespace penstock::client
