// What a store says about a folder: ListObjectsV2 of S3. Pure.
//
// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/store_request.h"
#include "server/store/client/transfer.h"

namespace penstock::store {

// Asks for a page of the objects whose names begin with the folder's, but for those in folders
// below it. `token`: of the page before; empty: the first. **Requires**: s3:// or gs://.
TransferRequest ToListRequest(const Address& folder, const StoreAccess& access,
                              const std::string& token);

struct ListPage {
  std::vector<std::string> keys = {};  // whole, in the store's order
  std::string next_token = {};         // empty: there is no further page
};

// **Errors**: those of ToStatus; DataLoss if the answer is no complete page.
absl::StatusOr<ListPage> ToListPage(const TransferAnswer& answer, const Address& folder);

}  // namespace penstock::store
