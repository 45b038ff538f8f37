#include "server/store/client/retry_reason.h"

namespace penstock::store {

RetryReason FindRetryReason(const TransferAnswer& answer) {
  if (answer.status.ok())
    return answer.code == 429 || answer.code == 503 ? RetryReason::kSlowDown : RetryReason::kServer;
  return answer.code == 0 ? RetryReason::kConnection : RetryReason::kAnswer;
}

}  // namespace penstock::store
