// Object stores in the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/app/config/config.h"
#include "tests/unit/config/refusal.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string WithPlace(const std::string& place) {
  return "stores:\n  places:\n    - " + place + "\n";
}

std::string PlaceRefusal(const std::string& place) { return Refusal(WithPlace(place)); }

TEST(ConfigStoresTest, APlaceIsABucketAFolderOrAPartOfAWebServer) {
  for (const char* url :
       {"s3://bucket/", "gs://bucket/a b/", "https://host:8443/data/", "http://host/"})
    EXPECT_THAT(PlaceRefusal("{url: '" + std::string(url) + "'}"), HasSubstr("not refused")) << url;
  EXPECT_THAT(PlaceRefusal("{}"), StartsWith("p.yaml:3: stores.places[0].url: got nothing"));
  EXPECT_THAT(PlaceRefusal("{url: s3://bucket}"), HasSubstr("names a bucket alone"));
  EXPECT_THAT(PlaceRefusal("{url: s3://bucket/train}"),
              HasSubstr("got 's3://bucket/train', wanted a URL that ends in a slash"));
  EXPECT_THAT(PlaceRefusal("{url: ftp://bucket/}"), HasSubstr("is no URL that begins with"));
  EXPECT_THAT(PlaceRefusal("{url: 'https://host/?key=hunter2'}"),
              AllOf(HasSubstr("got a query"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(PlaceRefusal("{url: 'https://me:hunter2@host/'}"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(PlaceRefusal("{url: https://host/a/../b/}"), HasSubstr("'.' or '..'"));
}

TEST(ConfigStoresTest, PlacesAreOfDifferentUrlsAndNotTooMany) {
  EXPECT_THAT(Refusal("stores:\n  places:\n    - {url: s3://one/}\n    - {url: s3://one/}\n"),
              StartsWith("p.yaml:4: stores.places[1].url: got 's3://one/', wanted another URL"));
  std::string many = "stores:\n  places:\n";
  for (int i = 0; i < 65; ++i) many += "    - {url: s3://bucket" + std::to_string(i) + "/}\n";
  EXPECT_THAT(Refusal(many), HasSubstr("stores.places: got 65, wanted at most 64"));
}

TEST(ConfigStoresTest, AnEndpointIsAHost) {
  EXPECT_THAT(PlaceRefusal("{url: s3://one/, endpoint: 'https://minio:9000'}"),
              HasSubstr("not refused"));
  for (const char* endpoint : {"minio:9000", "s3://minio", "https://minio/path",
                               "https://u:hunter2@m", "https://minio?a=hunter2", "https://"}) {
    EXPECT_THAT(
        PlaceRefusal("{url: s3://one/, endpoint: '" + std::string(endpoint) + "'}"),
        AllOf(HasSubstr("stores.places[0].endpoint: got something else, wanted https://HOST"),
              Not(HasSubstr("hunter2"))))
        << endpoint;
  }
}

TEST(ConfigStoresTest, CredentialsSayWhatTheyNeedAndNothingElse) {
  const auto refusal = [](const std::string& more) {
    return PlaceRefusal("{url: s3://one/, credentials: " + more + "}");
  };
  for (const char* whole :
       {"anonymous", "metadata", "container", "search", "web_identity",
        "profile, credentials_file: /etc/keys", "profile, credentials_file: /etc/keys, profile: p",
        "web_identity, role_arn: arn, token_file: /token, sts_endpoint: 'https://sts'"})
    EXPECT_THAT(refusal(whole), HasSubstr("not refused")) << whole;
  EXPECT_THAT(refusal("keys"), HasSubstr("wanted one of anonymous, profile, metadata, container, "
                                         "web_identity, search"));
  EXPECT_THAT(refusal("profile"), HasSubstr("credentials_file: got nothing, wanted an absolute"));
  EXPECT_THAT(refusal("profile, credentials_file: keys"), HasSubstr("wanted an absolute path"));
  EXPECT_THAT(refusal("metadata, credentials_file: /keys"),
              HasSubstr("wanted nothing, because credentials is not profile"));
  EXPECT_THAT(refusal("anonymous, role_arn: x"),
              HasSubstr("because credentials is not web_identity"));
  EXPECT_THAT(refusal("web_identity, role_arn: x"),
              HasSubstr("got role_arn alone, wanted both role_arn and token_file, or neither"));
  EXPECT_THAT(refusal("web_identity, role_arn: x, token_file: y"), HasSubstr("an absolute path"));
}

TEST(ConfigStoresTest, AWebServerGetsNoCredentials) {
  for (const char* more :
       {"credentials: metadata", "region: x", "endpoint: 'https://x'", "addressing: path"})
    EXPECT_THAT(PlaceRefusal("{url: https://host/, " + std::string(more) + "}"),
                HasSubstr("wanted nothing for http:// and https://"))
        << more;
  EXPECT_THAT(PlaceRefusal("{url: https://host/, credentials: anonymous, ca: /ca}"),
              HasSubstr("not refused"));
}

TEST(ConfigStoresTest, ACacheHasALimit) {
  EXPECT_THAT(Refusal("stores:\n  cache: /cache\n"),
              StartsWith("p.yaml:1: stores.cache_max: got 0 B, wanted 1.0 MiB to"));
  EXPECT_THAT(Refusal("stores: {cache: cache, cache_max: 1GiB}"), HasSubstr("an absolute path"));
  EXPECT_THAT(Refusal("stores: {cache_max: 1GiB}"), HasSubstr("because stores.cache is not set"));
  EXPECT_THAT(Refusal("stores: {cache: /cache, cache_max: 1GiB, ca: /ca}"),
              HasSubstr("not refused"));
  EXPECT_THAT(Refusal("stores: {ca: ca}"), HasSubstr("stores.ca: got 'ca', wanted an absolute"));
}

std::string ShardsRefusal(const std::string& shards) {
  return Refusal(WithPlace("{url: s3://bucket/train/}") +
                 "datasets:\n  - name: a\n    tar: {shards: [" + shards + "]}\n");
}

TEST(ConfigStoresTest, DatasetsNameOnlyWhatLiesInAPlace) {
  EXPECT_THAT(ShardsRefusal("s3://bucket/train/"), HasSubstr("not refused"));
  EXPECT_THAT(ShardsRefusal("'s3://bucket/train/{00..99}.tar', s3://bucket/train/x/y.tar"),
              HasSubstr("not refused"));
  EXPECT_THAT(
      ShardsRefusal("s3://bucket/train/a.tar, 's3://bucket/{train,secret}/x.tar'"),
      StartsWith("p.yaml:6: datasets[0].tar.shards[1]: got 's3://bucket/secret/x.tar', wanted "
                 "a URL that begins with one of stores.places"));
  for (const char* other : {"s3://bucket/training/x.tar", "s3://other/train/x.tar",
                            "gs://bucket/train/x.tar", "https://bucket/train/x.tar"})
    EXPECT_THAT(ShardsRefusal(other), HasSubstr("one of stores.places")) << other;
  EXPECT_THAT(ShardsRefusal("train/x.tar"), HasSubstr("an absolute path"));
  EXPECT_THAT(Refusal("datasets: [{name: a, tfrecord: {shards: [s3://bucket/x]}}]"),
              HasSubstr("one of stores.places"));
  EXPECT_THAT(Refusal(WithPlace("{url: https://host/}") +
                      "datasets: [{name: a, tar: {shards: ['https://host/x.tar?k=hunter2']}}]"),
              AllOf(HasSubstr("wanted a URL without a query"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace penstock::app
