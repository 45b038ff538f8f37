// Validates operators' requests; declared in message_to_domain.h.
#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/rpc/message_to_domain.h"

namespace penstock::rpc {

absl::StatusOr<QuarantineQuery> QuarantineQueryFrom(const v1::ListQuarantineRequest& message) {
  QuarantineQuery query;
  PENSTOCK_ASSIGN_OR_RETURN(query.dataset, DatasetOrAllFrom(message.dataset()));
  const uint32_t wanted = message.page_size() == 0 ? kMaxQuarantinePage : message.page_size();
  query.page_size = std::min(wanted, kMaxQuarantinePage);
  if (message.page_token().empty()) return query;
  const std::pair<absl::string_view, absl::string_view> place =
      absl::StrSplit(message.page_token(), absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(place.first, &query.at_dataset) ||
      !absl::SimpleAtoi(place.second, &query.at_sample))
    return absl::InvalidArgumentError(
        absl::StrCat("page_token: wanted the next_page_token of an earlier page, got ",
                     message.page_token().size(), " other bytes; begin without one"));
  return query;
}

absl::StatusOr<std::chrono::milliseconds> IntervalFrom(const v1::WatchStatusRequest& message) {
  const uint32_t ms = message.interval_ms() == 0 ? kUsualWatchMs : message.interval_ms();
  if (ms < kMinWatchMs || ms > kMaxWatchMs)
    return absl::InvalidArgumentError(absl::StrCat("interval_ms is ", ms, "; wanted ", kMinWatchMs,
                                                   " to ", kMaxWatchMs, ", or 0 for ",
                                                   kUsualWatchMs));
  return std::chrono::milliseconds(ms);
}

}  // namespace penstock::rpc
