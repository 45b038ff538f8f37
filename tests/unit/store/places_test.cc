#include "server/store/client/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

// The endpoint of the place in which the URL lies, or why there is none.
std::string EndpointFor(const StorePlaces& places, const std::string& url) {
  const Address address = *ParseAddress(url);
  const auto place = places.Find(address);
  return place.ok() ? (*place)->access.endpoint : std::string(place.status().message());
}

StorePlace At(const std::string& url, const std::string& endpoint) {
  return {.prefix = *ParseAddress(url), .access = {.endpoint = endpoint}};
}

TEST(StorePlacesTest, TheLongestPrefixCounts) {
  const StorePlaces places({At("s3://photos/", "bucket"), At("s3://photos/train/deep/", "deep"),
                            At("s3://photos/train/", "train"), At("gs://photos/", "google"),
                            At("https://host/data/", "web")});

  EXPECT_EQ(EndpointFor(places, "s3://photos/x"), "bucket");
  EXPECT_EQ(EndpointFor(places, "s3://photos/train/x"), "train");
  EXPECT_EQ(EndpointFor(places, "s3://photos/train/"), "train");
  EXPECT_EQ(EndpointFor(places, "s3://photos/train/deep/x"), "deep");
  EXPECT_EQ(EndpointFor(places, "gs://photos/train/x"), "google");
  EXPECT_EQ(EndpointFor(places, "https://host/data/x"), "web");
}

TEST(StorePlacesTest, WhatLiesInNoneIsNotReached) {
  const StorePlaces places({At("s3://photos/train/", "train"), At("https://host/data/", "web")});

  for (const char* url : {"s3://photos/x", "s3://photos/training/x", "s3://photo/train/x",
                          "gs://photos/train/x", "http://host/data/x", "https://host/datax",
                          "https://host:444/data/x", "https://host.evil/data/x"})
    EXPECT_THAT(EndpointFor(places, url), HasSubstr("lies in none of the configured parts")) << url;
}

TEST(StorePlacesTest, AKeyWithDotsIsNoWayOutOfAFolder) {
  const StorePlaces places({At("s3://photos/train/", "train")});

  EXPECT_EQ(EndpointFor(places, "s3://photos/train/../secret"), "train")
      << "in S3 dots are letters of a name";
  EXPECT_FALSE(ParseAddress("https://host/data/../secret").ok());
  EXPECT_FALSE(ParseAddress("https://host/data/%2e%2E/secret").ok());
}

TEST(StorePlacesTest, AllOfASchemeIsAPlace) {
  const StorePlaces places(
      {EverywhereIn(Scheme::kS3, {.endpoint = "all"}), At("s3://own/", "own")});

  EXPECT_EQ(EndpointFor(places, "s3://any/x"), "all");
  EXPECT_EQ(EndpointFor(places, "s3://own/x"), "own");
  EXPECT_THAT(EndpointFor(places, "gs://any/x"), HasSubstr("none of"));
}

}  // namespace
}  // namespace penstock::store
