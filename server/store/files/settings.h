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
};

// The variables of common/base/store_environment.h that are set in this process.
Environment OwnStoreEnvironment();

// s3://: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; AWS_REGION or AWS_DEFAULT_REGION; AWS_CA_BUNDLE;
// keys as FindStoreKeys. gs://: the HMAC keys GCS_KEY and GCS_SECRET. Reads files.
// **Errors**: those of FindStoreKeys; FailedPrecondition if an endpoint is no URL, or if one of a
// pair of keys is missing.
absl::StatusOr<StoreSettings> ReadStoreSettings(const Environment& environment);

}  // namespace penstock::store
