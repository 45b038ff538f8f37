// Why a request is sent again.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "server/store/client/transfer.h"

namespace penstock::store {

enum class RetryReason {
  kSlowDown,    // 429, 503: the store wants fewer requests
  kServer,      // another answer that asks to try again, such as 500
  kConnection,  // none, or no answer within the time
  kAnswer,      // one that was cut off, or of another range
};
inline constexpr std::array<absl::string_view, 4> kRetryReasons = {"slow_down", "server",
                                                                   "connection", "answer"};
using RetryCounts = std::array<uint64_t, kRetryReasons.size()>;  // by reason

// **Requires**: ToStatus of the answer is Unavailable.
RetryReason FindRetryReason(const TransferAnswer& answer);

}  // namespace penstock::store
