// What a store says about a folder: ListObjectsV2 of S3. Pure.
//
// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/store_request.h"
#include "server/store/client/transfer.h"

namespace penstock::store {

// Whether a listing goes down into the folders below, or stops at their names.
enum class ListDepth { kOneLevel, kAll };

// Asks for a page of the objects whose names begin with the folder's. `token`: of the page before;
// empty: the first. **Requires**: s3:// or gs://.
TransferRequest ToListRequest(const Address& folder, const StoreAccess& access,
                              const std::string& token, ListDepth depth = ListDepth::kOneLevel);

struct ListedObject {
  std::string key = {};   // whole
  uint64_t bytes = 0;     // 0 if the store does not say
  std::string etag = {};  // with its quotes; empty: the store does not say
};

struct ListPage {
  std::vector<ListedObject> objects = {};  // in the store's order
  std::vector<std::string> folders = {};   // whole, each with its slash
  std::string next_token = {};             // empty: there is no further page
};

// **Errors**: those of ToStatus; DataLoss if the answer is no complete page.
absl::StatusOr<ListPage> ToListPage(const TransferAnswer& answer, const Address& folder);

}  // namespace penstock::store
