// What libcurl's results mean. Pure.
#pragma once

#include "common/base/status.h"
#include "server/store/client/curl.h"

namespace penstock::store {

// Ok if there is a complete answer. **Errors**: FailedPrecondition: the server's certificate is not
// trusted, or a redirect is not followed; says what to do. InvalidArgument: the URL is none.
// Unavailable: any other, which may pass.
absl::Status ToTransferStatus(const Curl& curl, CURLcode code);

}  // namespace penstock::store
