// What the environment says about stores: endpoints, regions, credentials, certificates.
#pragma once

#include "common/base/status.h"
#include "server/store/client/credentials.h"
#include "server/store/client/object_store.h"
#include "server/store/client/transfers.h"

namespace penstock::store {

struct StoreSettings {
  Transfers::Options transfers = {};
  ObjectStore::Options store = {};
  std::string cache_folder = {};  // empty: pieces are not kept
  uint64_t cache_bytes = 0;
};

// The variables of common/base/store_environment.h that are set in this process.
Environment OwnStoreEnvironment();

// s3://: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; AWS_REGION or AWS_DEFAULT_REGION; AWS_CA_BUNDLE;
// keys as FindStoreKeys. gs://: the HMAC keys GCS_KEY and GCS_SECRET. The cache:
// PENSTOCK_STORE_CACHE, an absolute path, and PENSTOCK_STORE_CACHE_MAX, such as 500GiB. Reads
// files.
// **Errors**: those of FindStoreKeys; FailedPrecondition names the variable that is wrong, or is
// missing beside another one.
absl::StatusOr<StoreSettings> ReadStoreSettings(const Environment& environment);

}  // namespace penstock::store
