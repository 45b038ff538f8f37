#include "server/app/config/stores_check.h"

#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "server/source/files/braces.h"
#include "server/source/files/remote_file.h"
#include "server/store/address/address.h"

namespace penstock::app {
namespace {

using config::v1::StorePlace;
using store::Address;
using store::Scheme;

constexpr int kMostPlaces = 64;

bool IsBucketScheme(Scheme scheme) { return scheme == Scheme::kS3 || scheme == Scheme::kGs; }

// The place's URL, if it can be one.
absl::StatusOr<Address> PlaceAddress(const std::string& url) {
  PENSTOCK_ASSIGN_OR_RETURN(Address address, store::ParseAddress(url));
  if (absl::EndsWith(address.key, "/") || (address.key.empty() && absl::EndsWith(url, "/")))
    return address;
  return absl::InvalidArgumentError(
      absl::StrCat("got '", store::ToText(address), "', wanted a URL that ends in a slash"));
}

void IsEndpoint(const std::string& key, const std::string& endpoint, ConfigChecker& checker) {
  if (endpoint.empty()) return;
  const auto address = store::ParseAddress(absl::StrCat(endpoint, "/"));
  const bool is_host = address.ok() && !IsBucketScheme(address->scheme) && address->key == "/" &&
                       address->query.empty();
  // A password in it is not shown.
  if (!is_host) checker.Refuse(key, "something else", "https://HOST[:PORT] or http://HOST[:PORT]");
}

// Refuses keys that say something about another way to get credentials.
void BelongsTo(const std::string& key, const std::string& value, bool belongs,
               absl::string_view credentials, ConfigChecker& checker) {
  if (value.empty() || belongs) return;
  checker.Refuse(key, ConfigChecker::Quoted(value),
                 absl::StrCat("nothing, because credentials is not ", credentials));
}

void CheckCredentials(const StorePlace& place, const std::string& at, ConfigChecker& checker) {
  const bool profile = place.credentials() == StorePlace::CREDENTIALS_PROFILE;
  const bool identity = place.credentials() == StorePlace::CREDENTIALS_WEB_IDENTITY;
  BelongsTo(at + ".credentials_file", place.credentials_file(), profile, "profile", checker);
  BelongsTo(at + ".profile", place.profile(), profile, "profile", checker);
  BelongsTo(at + ".role_arn", place.role_arn(), identity, "web_identity", checker);
  BelongsTo(at + ".token_file", place.token_file(), identity, "web_identity", checker);
  BelongsTo(at + ".sts_endpoint", place.sts_endpoint(), identity, "web_identity", checker);
  if (profile) checker.IsPath(at + ".credentials_file", place.credentials_file());
  if (place.role_arn().empty() != place.token_file().empty())
    checker.Refuse(at, place.role_arn().empty() ? "token_file alone" : "role_arn alone",
                   "both role_arn and token_file, or neither");
  if (!place.token_file().empty()) checker.IsPath(at + ".token_file", place.token_file());
  IsEndpoint(at + ".sts_endpoint", place.sts_endpoint(), checker);
}

// Web servers get no credentials, so what concerns buckets says nothing there.
void CheckWebPlace(const StorePlace& place, const std::string& at, ConfigChecker& checker) {
  constexpr absl::string_view kWanted = "nothing for http:// and https://";
  if (!place.endpoint().empty()) checker.Refuse(at + ".endpoint", "an endpoint", kWanted);
  if (!place.region().empty())
    checker.Refuse(at + ".region", ConfigChecker::Quoted(place.region()), kWanted);
  if (place.credentials() > StorePlace::CREDENTIALS_ANONYMOUS)
    checker.Refuse(at + ".credentials", "credentials", kWanted);
  if (place.addressing() > StorePlace::ADDRESSING_AUTO)
    checker.Refuse(at + ".addressing", "an addressing", kWanted);
}

void CheckPlace(const StorePlace& place, const std::string& at, ConfigChecker& checker) {
  const absl::StatusOr<Address> address = PlaceAddress(place.url());
  if (place.url().empty())
    return checker.Refuse(at + ".url", "nothing", "a URL like s3://bucket/folder/");
  if (!address.ok()) return checker.RefuseWith(at + ".url", address.status());
  if (!address->query.empty()) checker.Refuse(at + ".url", "a query", "a URL without one");
  if (!IsBucketScheme(address->scheme)) CheckWebPlace(place, at, checker);
  IsEndpoint(at + ".endpoint", place.endpoint(), checker);
  CheckCredentials(place, at, checker);
  if (!place.ca().empty()) checker.IsPath(at + ".ca", place.ca());
}

// Whether what the URL names begins as the place's URL does; both with their schemes in lower case.
bool IsIn(const Address& address, const StorePlace& place) {
  const absl::StatusOr<Address> prefix = PlaceAddress(place.url());
  return prefix.ok() && prefix->scheme == address.scheme && prefix->place == address.place &&
         absl::StartsWith(address.key, prefix->key);
}

void CheckUrl(const std::string& url, const config::v1::Stores& stores, const std::string& at,
              ConfigChecker& checker) {
  const absl::StatusOr<Address> address = store::ParseAddress(url);
  if (!address.ok()) return checker.RefuseWith(at, address.status());
  if (!address->query.empty())
    return checker.Refuse(at, ConfigChecker::Quoted(store::ToText(*address)),
                          "a URL without a query");
  for (const StorePlace& place : stores.places())
    if (IsIn(*address, place)) return;
  checker.Refuse(at, ConfigChecker::Quoted(store::ToText(*address)),
                 "a URL that begins with one of stores.places");
}

}  // namespace

void CheckStores(const config::v1::Stores& stores, ConfigChecker& checker) {
  if (stores.places_size() > kMostPlaces)
    checker.Refuse("stores.places", absl::StrCat(stores.places_size()), "at most 64");
  std::map<std::string, int> urls;
  for (int i = 0; i < stores.places_size(); ++i) {
    const std::string at = absl::StrCat("stores.places[", i, "]");
    CheckPlace(stores.places(i), at, checker);
    if (const auto [earlier, is_new] = urls.emplace(stores.places(i).url(), i); !is_new)
      checker.Refuse(
          at + ".url", ConfigChecker::Quoted(stores.places(i).url()),
          absl::StrCat("another URL: stores.places[", earlier->second, "] has the same"));
  }
  if (!stores.ca().empty()) checker.IsPath("stores.ca", stores.ca());
  if (!stores.cache().empty()) {
    checker.IsPath("stores.cache", stores.cache());
    checker.IsSize("stores.cache_max", stores.cache_max_bytes(),
                   {base::kMiB, 1024 * 1024 * base::kGiB});
  } else if (stores.cache_max_bytes() > 0) {
    checker.Refuse("stores.cache_max", base::FormatBytes(stores.cache_max_bytes()),
                   "0B, because stores.cache is not set");
  }
}

void CheckPathOrUrl(const std::string& text, const config::v1::Stores& stores,
                    const std::string& at, ConfigChecker& checker) {
  if (!source::IsRemotePath(text)) return checker.IsPath(at, text);
  const absl::StatusOr<std::vector<std::string>> urls = source::ExpandBraces(text);
  if (!urls.ok()) return checker.RefuseWith(at, urls.status());
  for (const std::string& url : *urls)
    if (checker.status().ok()) CheckUrl(url, stores, at, checker);
}

}  // namespace penstock::app
