#include "server/store/files/settings.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/store_environment.h"
#include "common/base/units.h"
#include "server/store/credentials/profiles.h"

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

absl::StatusOr<std::string> EndpointOf(const Environment& environment, const Profile& profile) {
  std::string endpoint = FirstOf(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty()) endpoint = profile.Get("endpoint_url");
  if (endpoint.empty() || absl::StartsWith(endpoint, "https://") ||
      absl::StartsWith(endpoint, "http://"))
    return endpoint;
  return absl::FailedPreconditionError(
      "AWS_ENDPOINT_URL: expected https://HOST[:PORT] or http://HOST[:PORT] (or endpoint_url, if "
      "the "
      "profile says it)");
}

// What is wrong with the profile is said when keys are needed.
Profile ProfileOrNothing(const Environment& environment) {
  absl::StatusOr<Profile> profile = FindProfile(environment);
  return profile.ok() ? *std::move(profile) : Profile{};
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
  const Profile profile = ProfileOrNothing(environment);
  StoreSettings settings;
  settings.transfers.ca_file =
      FirstOf(environment, {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  settings.transfers.ca_folder = FirstOf(environment, {"SSL_CERT_DIR"});
  StoreAccess s3;
  PENSTOCK_ASSIGN_OR_RETURN(s3.endpoint, EndpointOf(environment, profile));
  std::string region = FirstOf(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = profile.Get("region");
  if (!region.empty()) s3.region = std::move(region);
  settings.places = {{{.scheme = Scheme::kS3}, s3, {KeySpec::From::kSearch, environment}},
                     {{.scheme = Scheme::kGs}, {}, {KeySpec::From::kHmac, environment}},
                     {{.scheme = Scheme::kHttps}, {.follows_redirects = true}, {}},
                     {{.scheme = Scheme::kHttp}, {.follows_redirects = true}, {}}};
  PENSTOCK_RETURN_IF_ERROR(ReadCache(environment, settings));
  return settings;
}

}  // namespace penstock::store
