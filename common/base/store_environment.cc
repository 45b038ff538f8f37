#include "common/base/store_environment.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/hash.h"

namespace penstock::base {

void ForEachStoreVariable(const std::function<void(const char* name)>& each) {
  for (const char* const name : {"AWS_ACCESS_KEY_ID",
                                 "AWS_SECRET_ACCESS_KEY",
                                 "AWS_SESSION_TOKEN",
                                 "AWS_PROFILE",
                                 "AWS_SHARED_CREDENTIALS_FILE",
                                 "AWS_CONFIG_FILE",
                                 "AWS_WEB_IDENTITY_TOKEN_FILE",
                                 "AWS_ROLE_ARN",
                                 "AWS_ROLE_SESSION_NAME",
                                 "AWS_ENDPOINT_URL_STS",
                                 "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                 "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                 "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                 "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                 "AWS_EC2_METADATA_DISABLED",
                                 "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                 "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
                                 "PENSTOCK_STORE_ANONYMOUS",
                                 "AWS_ENDPOINT_URL",
                                 "AWS_ENDPOINT_URL_S3",
                                 "AWS_REGION",
                                 "AWS_DEFAULT_REGION",
                                 "AWS_CA_BUNDLE",
                                 "CURL_CA_BUNDLE",
                                 "GCS_KEY",
                                 "GCS_SECRET",
                                 "HOME",
                                 "SSL_CERT_FILE",
                                 "SSL_CERT_DIR",
                                 "http_proxy",
                                 "https_proxy",
                                 "HTTPS_PROXY",
                                 "all_proxy",
                                 "ALL_PROXY",
                                 "no_proxy",
                                 "NO_PROXY",
                                 "PENSTOCK_STORE_CACHE",
                                 "PENSTOCK_STORE_CACHE_MAX"})
    each(name);
}

uint64_t StoreEnvironmentOf(const std::function<const char*(const char* name)>& get) {
  Hasher hasher;
  ForEachStoreVariable([&](const char* name) {
    const char* const value = get(name);
    hasher.Add(uint64_t{value != nullptr});
    hasher.Add(absl::string_view(value != nullptr ? value : ""));
  });
  const uint64_t digest = hasher.Digest();
  return digest != 0 ? digest : 1;
}

uint64_t StoreEnvironmentFor(absl::string_view dataset) {
  if (!absl::StrContains(dataset, "://")) return 0;
  return StoreEnvironmentOf([](const char* name) { return std::getenv(name); });
}

std::string StoreVariableMarks(const std::function<const char*(const char* name)>& get) {
  std::string marks;
  ForEachStoreVariable([&](const char* name) {
    Hasher hasher;
    const char* const value = get(name);
    hasher.Add(absl::string_view(name));
    hasher.Add(uint64_t{value != nullptr});
    hasher.Add(absl::string_view(value != nullptr ? value : ""));
    const uint64_t digest = hasher.Digest();
    marks.push_back(static_cast<char>(digest & 0xff));
    marks.push_back(static_cast<char>(digest >> 8 & 0xff));
  });
  return marks;
}

std::string StoreVariableMarksFor(absl::string_view dataset) {
  if (!absl::StrContains(dataset, "://")) return "";
  return StoreVariableMarks([](const char* name) { return std::getenv(name); });
}

std::string DifferingStoreVariables(absl::string_view one, absl::string_view other) {
  std::string names;
  size_t at = 0;
  ForEachStoreVariable([&](const char* name) {
    if (one.substr(std::min(at, one.size()), 2) != other.substr(std::min(at, other.size()), 2))
      absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    at += 2;
  });
  return one.size() == at && other.size() == at ? names : "";
}

}  // namespace penstock::base
