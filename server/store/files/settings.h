// How stores are reached: endpoints, regions, credentials, certificates; and what the environment
// says about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/store_request.h"
#include "server/store/client/transfers.h"
#include "server/store/credentials/key_search.h"

namespace penstock::store {

// A part of the stores, as in StorePlace, and who signs requests to it.
struct PlaceSettings {
  Address prefix = {};
  StoreAccess access = {};
  KeySpec keys = {};
};

struct StoreSettings {
  Transfers::Options transfers = {};
  std::vector<PlaceSettings> places = {};
  std::string cache_folder = {};  // empty: pieces are not kept
  uint64_t cache_bytes = 0;
};

// The variables of common/base/store_environment.h that are set in this process.
Environment OwnStoreEnvironment();

// s3://: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and AWS_REGION or AWS_DEFAULT_REGION, else those
// of the profile (endpoint_url, region); keys by KeySpec::From::kSearch. gs://: the HMAC keys
// GCS_KEY and GCS_SECRET. Certificates: AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE, and
// SSL_CERT_DIR. The cache: PENSTOCK_STORE_CACHE, an absolute path, and PENSTOCK_STORE_CACHE_MAX,
// such as 500GiB. Reads files. **Errors**: FailedPrecondition names the variable that is wrong, or
// is missing beside another one.
absl::StatusOr<StoreSettings> ReadStoreSettings(const Environment& environment);

}  // namespace penstock::store
