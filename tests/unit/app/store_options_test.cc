#include "server/app/store_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/app/config/config.h"

namespace penstock::app {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using From = store::KeySpec::From;

store::StoreSettings Settings(const std::string& stores,
                              const store::Environment& environment = {}) {
  const auto config = ParseConfig("stores:\n" + stores, "p.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *ToStoreSettings(config->stores(), environment);
}

store::KeySpec Keys(const std::string& place, const store::Environment& environment = {}) {
  return Settings("  places:\n    - {url: s3://bucket/, " + place + "}\n", environment)
      .places.at(0)
      .keys;
}

TEST(StoreOptionsTest, EachKeySaysWhatItIs) {
  const store::StoreSettings settings = Settings(
      "  ca: /ca\n  cache: /cache\n  cache_max: 2GiB\n  places:\n"
      "    - {url: s3://bucket/a/, endpoint: 'https://minio', region: eu, addressing: host, ca: "
      "/own}\n"
      "    - {url: https://host/b/}\n");

  EXPECT_EQ(settings.transfers.ca_file, "/ca");
  EXPECT_EQ(settings.cache_folder, "/cache");
  EXPECT_EQ(settings.cache_bytes, uint64_t{2} << 30);
  ASSERT_EQ(settings.places.size(), 2u);
  const store::PlaceSettings& bucket = settings.places[0];
  EXPECT_EQ(bucket.prefix.place, "bucket");
  EXPECT_EQ(bucket.prefix.key, "a/");
  EXPECT_EQ(bucket.access.endpoint, "https://minio");
  EXPECT_EQ(bucket.access.region, "eu");
  EXPECT_EQ(bucket.access.path_style, false);
  EXPECT_EQ(bucket.access.ca_file, "/own");
  EXPECT_EQ(bucket.keys.from, From::kNowhere);
  EXPECT_FALSE(settings.places[1].access.follows_redirects)
      << "a web server must not send a daemon to hosts that only the daemon reaches";
  EXPECT_EQ(settings.places[1].access.region, "us-east-1");
}

TEST(StoreOptionsTest, OfTheEnvironmentOnlyWhatIsAskedForCounts) {
  const store::Environment environment = {{"AWS_ACCESS_KEY_ID", "id"},
                                          {"AWS_PROFILE", "other"},
                                          {"AWS_ROLE_ARN", "arn"},
                                          {"AWS_WEB_IDENTITY_TOKEN_FILE", "/env"},
                                          {"AWS_ENDPOINT_URL", "http://x"},
                                          {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://m"},
                                          {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c"}};

  EXPECT_EQ(Keys("credentials: search", environment).environment, environment);
  EXPECT_TRUE(Keys("credentials: anonymous", environment).environment.empty());
  EXPECT_THAT(Keys("credentials: profile, credentials_file: /keys", environment).environment,
              UnorderedElementsAre(Pair("AWS_SHARED_CREDENTIALS_FILE", "/keys"),
                                   Pair("AWS_PROFILE", "default")));
  EXPECT_THAT(Keys("credentials: metadata", environment).environment,
              UnorderedElementsAre(Pair("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://m")));
  EXPECT_THAT(Keys("credentials: container", environment).environment,
              UnorderedElementsAre(Pair("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c")));
  EXPECT_THAT(Keys("credentials: web_identity", environment).environment,
              UnorderedElementsAre(Pair("AWS_ROLE_ARN", "arn"),
                                   Pair("AWS_WEB_IDENTITY_TOKEN_FILE", "/env")));
  EXPECT_THAT(
      Keys("credentials: web_identity, role_arn: mine, token_file: /own, region: eu", environment)
          .environment,
      UnorderedElementsAre(Pair("AWS_ROLE_ARN", "mine"),
                           Pair("AWS_WEB_IDENTITY_TOKEN_FILE", "/own"), Pair("AWS_REGION", "eu")));
}

TEST(StoreOptionsTest, PlacesWithTheSameCredentialsHaveTheSameKeys) {
  EXPECT_EQ(Keys("credentials: metadata"), Keys("credentials: metadata, endpoint: 'https://x'"));
  EXPECT_NE(Keys("credentials: profile, credentials_file: /a"),
            Keys("credentials: profile, credentials_file: /b"));
}

}  // namespace
}  // namespace penstock::app
