// What the environment says about stores.
#include "server/store/files/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/store_environment.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

// The place of all buckets of S3 comes first, then that of Google's.
const StoreAccess& S3In(const absl::StatusOr<StoreSettings>& settings) {
  return settings->places.at(0).access;
}

TEST(SettingsTest, NothingSaidIsAmazonAndASearchForKeys) {
  const auto settings = ReadStoreSettings({{"HOME", "/nonexistent"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(S3In(settings).endpoint, "");
  EXPECT_EQ(S3In(settings).region, "us-east-1");
  EXPECT_EQ(settings->places[0].keys.from, KeySpec::From::kSearch);
  EXPECT_EQ(settings->places[1].keys.from, KeySpec::From::kHmac);
  for (size_t i : {2u, 3u}) {
    EXPECT_EQ(settings->places[i].keys.from, KeySpec::From::kNowhere);
    EXPECT_TRUE(settings->places[i].access.follows_redirects);
  }
}

TEST(SettingsTest, VariablesAreRead) {
  const auto settings = ReadStoreSettings({{"AWS_ENDPOINT_URL", "https://general:9000"},
                                           {"AWS_ENDPOINT_URL_S3", "http://own:9000"},
                                           {"AWS_DEFAULT_REGION", "eu-west-1"},
                                           {"CURL_CA_BUNDLE", "/etc/curl.pem"},
                                           {"AWS_CA_BUNDLE", "/etc/ca.pem"},
                                           {"SSL_CERT_DIR", "/etc/certs"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(S3In(settings).endpoint, "http://own:9000");
  EXPECT_EQ(S3In(settings).region, "eu-west-1");
  EXPECT_EQ(settings->transfers.ca_file, "/etc/ca.pem");
  EXPECT_EQ(settings->transfers.ca_folder, "/etc/certs");
  EXPECT_EQ(ReadStoreSettings({{"SSL_CERT_FILE", "/x"}})->transfers.ca_file, "/x");
}

TEST(SettingsTest, WhatVariablesDoNotSayTheProfileDoes) {
  penstock::testing::TempFolder folder;
  folder.Write("config", "[default]\nregion = eu-west-3\nendpoint_url = http://minio:9000\n");
  Environment environment = {{"AWS_CONFIG_FILE", folder.At("config")}};

  EXPECT_EQ(S3In(ReadStoreSettings(environment)).region, "eu-west-3");
  EXPECT_EQ(S3In(ReadStoreSettings(environment)).endpoint, "http://minio:9000");
  environment["AWS_REGION"] = "us-west-2";
  environment["AWS_ENDPOINT_URL"] = "https://own";
  EXPECT_EQ(S3In(ReadStoreSettings(environment)).region, "us-west-2");
  EXPECT_EQ(S3In(ReadStoreSettings(environment)).endpoint, "https://own");
}

TEST(SettingsTest, WhatIsWrongIsRefusedWithoutSecrets) {
  const auto endpoint = ReadStoreSettings({{"AWS_ENDPOINT_URL", "user:hunter2@host"}});
  EXPECT_THAT(endpoint.status().message(), HasSubstr("AWS_ENDPOINT_URL: expected https://"));
  EXPECT_THAT(endpoint.status().message(), Not(HasSubstr("hunter2")));
}

TEST(SettingsTest, TheCacheNeedsAFolderAndALimit) {
  const Environment none = {{"HOME", "/nonexistent"}};
  const auto with = [&](const std::string& folder, const std::string& most) {
    Environment environment = none;
    if (!folder.empty()) environment["PENSTOCK_STORE_CACHE"] = folder;
    if (!most.empty()) environment["PENSTOCK_STORE_CACHE_MAX"] = most;
    return ReadStoreSettings(environment);
  };
  const auto settings = with("/nvme/cache", "2GiB");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->cache_folder, "/nvme/cache");
  EXPECT_EQ(settings->cache_bytes, uint64_t{2} << 30);
  EXPECT_EQ(with("", "")->cache_folder, "");
  EXPECT_THAT(with("/nvme/cache", "").status().message(), HasSubstr("one is set"));
  EXPECT_THAT(with("", "2GiB").status().message(), HasSubstr("one is set"));
  EXPECT_THAT(with("nvme", "2GiB").status().message(), HasSubstr("an absolute path"));
  EXPECT_THAT(with("/nvme", "much").status().message(), HasSubstr("PENSTOCK_STORE_CACHE_MAX: "));
}

TEST(StoreEnvironmentTest, EveryVariableCounts) {
  const auto of = [](absl::string_view set, const char* value) {
    return base::StoreEnvironmentOf(
        [&](const char* name) { return name == set ? value : nullptr; });
  };
  const uint64_t none = of("", "");
  EXPECT_NE(none, 0u);
  base::ForEachStoreVariable([&](const char* name) {
    EXPECT_NE(of(name, ""), none) << name;
    EXPECT_NE(of(name, "one"), of(name, "other")) << name;
    EXPECT_NE(of(name, "one"), of("PATH", "one")) << name;
  });
  EXPECT_NE(of("AWS_ACCESS_KEY_ID", "x"), of("AWS_SECRET_ACCESS_KEY", "x"));
}

TEST(StoreEnvironmentTest, WhichVariableDiffersIsToldByItsName) {
  const auto marks = [](std::map<std::string, const char*> set) {
    return base::StoreVariableMarks([&](const char* name) -> const char* {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second;
    });
  };
  const std::string one = marks({{"AWS_REGION", "a"}, {"HOME", "/home"}});
  EXPECT_EQ(base::DifferingStoreVariables(one, one), "");
  EXPECT_EQ(base::DifferingStoreVariables(one, marks({{"AWS_REGION", "b"}, {"HOME", "/home"}})),
            "AWS_REGION");
  EXPECT_EQ(base::DifferingStoreVariables(marks({{"AWS_REGION", "a"}}), marks({{"HOME", ""}})),
            "AWS_REGION, HOME");
  EXPECT_EQ(base::DifferingStoreVariables(one, ""), "") << "an older client says nothing";
  EXPECT_EQ(base::DifferingStoreVariables(one, one + "xx"), "");
}

}  // namespace
}  // namespace penstock::store
