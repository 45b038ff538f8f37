#include "server/app/store_options.h"

#include <initializer_list>
#include <utility>

#include "common/posix/fd.h"
#include "server/store/credentials/profiles.h"

namespace penstock::app {
namespace {

using config::v1::StorePlace;
using store::Environment;
using store::KeySpec;

// Of all variables only these.
Environment Only(const Environment& all, std::initializer_list<const char*> names) {
  Environment some;
  for (const char* const name : names)
    if (const std::string value = store::VariableIn(all, name); !value.empty()) some[name] = value;
  return some;
}

Environment ProfileVariables(const StorePlace& place) {
  Environment variables = {{"AWS_SHARED_CREDENTIALS_FILE", place.credentials_file()}};
  variables["AWS_PROFILE"] = place.profile().empty() ? "default" : place.profile();
  return variables;
}

Environment IdentityVariables(const StorePlace& place, const Environment& environment) {
  Environment variables =
      Only(environment, {"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_SESSION_NAME"});
  if (!place.role_arn().empty()) {
    variables["AWS_ROLE_ARN"] = place.role_arn();
    variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = place.token_file();
  }
  if (!place.sts_endpoint().empty()) variables["AWS_ENDPOINT_URL_STS"] = place.sts_endpoint();
  if (!place.region().empty()) variables["AWS_REGION"] = place.region();
  return variables;
}

KeySpec ToKeySpec(const StorePlace& place, const Environment& environment) {
  switch (place.credentials()) {
    case StorePlace::CREDENTIALS_PROFILE:
      return {KeySpec::From::kProfile, ProfileVariables(place)};
    case StorePlace::CREDENTIALS_METADATA:
      return {KeySpec::From::kMetadata,
              Only(environment, {"AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                 "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"})};
    case StorePlace::CREDENTIALS_CONTAINER:
      return {
          KeySpec::From::kContainer,
          Only(environment,
               {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN"})};
    case StorePlace::CREDENTIALS_WEB_IDENTITY:
      return {KeySpec::From::kWebIdentity, IdentityVariables(place, environment)};
    case StorePlace::CREDENTIALS_SEARCH:
      return {KeySpec::From::kSearch, environment};
    default:
      return {};
  }
}

store::StoreAccess ToAccess(const StorePlace& place) {
  store::StoreAccess access = {.endpoint = place.endpoint(), .ca_file = place.ca()};
  if (!place.region().empty()) access.region = place.region();
  if (place.addressing() == StorePlace::ADDRESSING_PATH) access.path_style = true;
  if (place.addressing() == StorePlace::ADDRESSING_HOST) access.path_style = false;
  return access;
}

absl::Status CheckFile(const std::string& key, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const absl::Status opened = posix::OpenRegular(path).status();
  if (opened.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      key, ": '", path, "': ", opened.message(), "; name a file that the daemon's user can read"));
}

absl::Status CheckProfile(const std::string& key, const StorePlace& place) {
  const auto refuse = [&key](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(key, ": ", why));
  };
  const auto profile = store::FindProfile(ProfileVariables(place));
  if (!profile.ok()) return refuse(profile.status().message());
  if (store::HasWebIdentity(*profile)) return absl::OkStatus();
  const auto keys = store::ReadProfileKeys(*profile);
  if (!keys.ok()) return refuse(keys.status().message());
  if (*keys != nullptr) return absl::OkStatus();
  return refuse(absl::StrCat("there is no aws_access_key_id in the profile '", profile->name,
                             "' of ", profile->files));
}

}  // namespace

absl::Status CheckStoreFiles(const config::v1::Stores& stores) {
  PENSTOCK_RETURN_IF_ERROR(CheckFile("stores.ca", stores.ca()));
  for (int i = 0; i < stores.places_size(); ++i) {
    const StorePlace& place = stores.places(i);
    const std::string at = absl::StrCat("stores.places[", i, "].");
    PENSTOCK_RETURN_IF_ERROR(CheckFile(at + "ca", place.ca()));
    PENSTOCK_RETURN_IF_ERROR(CheckFile(at + "token_file", place.token_file()));
    if (place.credentials() == StorePlace::CREDENTIALS_PROFILE)
      PENSTOCK_RETURN_IF_ERROR(CheckProfile(at + "credentials_file", place));
  }
  return absl::OkStatus();
}

absl::StatusOr<store::StoreSettings> ToStoreSettings(const config::v1::Stores& stores,
                                                     const Environment& environment) {
  store::StoreSettings settings;
  settings.transfers.ca_file = stores.ca();
  settings.cache_folder = stores.cache();
  settings.cache_bytes = stores.cache_max_bytes();
  for (const StorePlace& place : stores.places()) {
    PENSTOCK_ASSIGN_OR_RETURN(store::Address prefix, store::ParseAddress(place.url()));
    settings.places.push_back({.prefix = std::move(prefix),
                               .access = ToAccess(place),
                               .keys = ToKeySpec(place, environment)});
  }
  return settings;
}

}  // namespace penstock::app
