// What the environment says about stores.
#include "server/store/files/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/store_environment.h"

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

TEST(SettingsTest, NothingSaidIsAmazonWithoutKeys) {
  const auto settings = ReadStoreSettings({{"HOME", "/nonexistent"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->store.s3.endpoint, "");
  EXPECT_EQ(settings->store.s3.region, "us-east-1");
  EXPECT_EQ(settings->store.s3.credentials, nullptr);
  EXPECT_EQ(settings->store.gs.credentials, nullptr);
}

TEST(SettingsTest, VariablesAreRead) {
  const auto settings = ReadStoreSettings({{"AWS_ENDPOINT_URL", "https://general:9000"},
                                           {"AWS_ENDPOINT_URL_S3", "http://own:9000"},
                                           {"AWS_DEFAULT_REGION", "eu-west-1"},
                                           {"AWS_CA_BUNDLE", "/etc/ca.pem"},
                                           {"AWS_ACCESS_KEY_ID", "id"},
                                           {"AWS_SECRET_ACCESS_KEY", "secret"},
                                           {"GCS_KEY", "google"},
                                           {"GCS_SECRET", "hidden"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->store.s3.endpoint, "http://own:9000");
  EXPECT_EQ(settings->store.s3.region, "eu-west-1");
  EXPECT_EQ(settings->store.s3.credentials->key_id, "id");
  EXPECT_EQ(settings->store.gs.credentials->key_id, "google");
  EXPECT_EQ(settings->transfers.ca_file, "/etc/ca.pem");
}

TEST(SettingsTest, WhatIsWrongIsRefusedWithoutSecrets) {
  const auto endpoint = ReadStoreSettings({{"AWS_ENDPOINT_URL", "user:hunter2@host"}});
  EXPECT_THAT(endpoint.status().message(), HasSubstr("AWS_ENDPOINT_URL: expected https://"));
  EXPECT_THAT(endpoint.status().message(), Not(HasSubstr("hunter2")));
  const auto half = ReadStoreSettings({{"GCS_SECRET", "hunter2"}, {"HOME", "/nonexistent"}});
  EXPECT_THAT(half.status().message(), HasSubstr("set both, or neither"));
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

}  // namespace
}  // namespace penstock::store
