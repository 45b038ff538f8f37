#include "server/store/files/settings.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/store_environment.h"
#include "common/base/units.h"

namespace penstock::store {
namespace {

// The first of the variables that is set to something.
std::string FirstOf(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (const auto found = environment.find(name);
        found != environment.end() && !found->second.empty())
      return found->second;
  return "";
}

absl::StatusOr<std::string> EndpointOf(const Environment& environment) {
  std::string endpoint = FirstOf(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty() || absl::StartsWith(endpoint, "https://") ||
      absl::StartsWith(endpoint, "http://"))
    return endpoint;
  return absl::FailedPreconditionError(
      "AWS_ENDPOINT_URL: expected https://HOST[:PORT] or http://HOST[:PORT]");
}

absl::StatusOr<std::shared_ptr<const StoreKeys>> GoogleKeys(const Environment& environment) {
  std::string id = FirstOf(environment, {"GCS_KEY"});
  std::string secret = FirstOf(environment, {"GCS_SECRET"});
  if (id.empty() != secret.empty())
    return absl::FailedPreconditionError(
        "of GCS_KEY and GCS_SECRET one is set; set both, or neither");
  if (id.empty()) return nullptr;
  return std::make_shared<const StoreKeys>(
      StoreKeys{.key_id = std::move(id), .secret = std::move(secret), .from = "GCS_KEY"});
}

absl::Status ReadCache(const Environment& environment, StoreSettings& settings) {
  settings.cache_folder = FirstOf(environment, {"PENSTOCK_STORE_CACHE"});
  const std::string most = FirstOf(environment, {"PENSTOCK_STORE_CACHE_MAX"});
  if (settings.cache_folder.empty() != most.empty())
    return absl::FailedPreconditionError(
        "of PENSTOCK_STORE_CACHE and PENSTOCK_STORE_CACHE_MAX one is set; set both (a folder, and "
        "how "
        "much it may take, such as 500GiB), or neither");
  if (most.empty()) return absl::OkStatus();
  if (settings.cache_folder.front() != '/')
    return absl::FailedPreconditionError("PENSTOCK_STORE_CACHE: expected an absolute path");
  const absl::StatusOr<uint64_t> bytes = base::ParseBytes(most);
  if (!bytes.ok())
    return absl::FailedPreconditionError(
        absl::StrCat("PENSTOCK_STORE_CACHE_MAX: ", bytes.status().message()));
  settings.cache_bytes = *bytes;
  return absl::OkStatus();
}

}  // namespace

Environment OwnStoreEnvironment() {
  Environment environment;
  base::ForEachStoreVariable([&](const char* name) {
    if (const char* const value = std::getenv(name)) environment[name] = value;
  });
  return environment;
}

absl::StatusOr<StoreSettings> ReadStoreSettings(const Environment& environment) {
  StoreSettings settings;
  settings.transfers.ca_file = FirstOf(environment, {"AWS_CA_BUNDLE"});
  PENSTOCK_ASSIGN_OR_RETURN(settings.store.s3.endpoint, EndpointOf(environment));
  if (std::string region = FirstOf(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
      !region.empty())
    settings.store.s3.region = std::move(region);
  PENSTOCK_ASSIGN_OR_RETURN(settings.store.s3.credentials, FindStoreKeys(environment));
  PENSTOCK_ASSIGN_OR_RETURN(settings.store.gs.credentials, GoogleKeys(environment));
  PENSTOCK_RETURN_IF_ERROR(ReadCache(environment, settings));
  return settings;
}

}  // namespace penstock::store
