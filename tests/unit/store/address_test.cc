#include "server/store/address/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(AddressTest, ABucketAndAKey) {
  const Address address = *ParseAddress("s3://bucket/train/a b+%.tar");
  EXPECT_EQ(address.place, "bucket");
  EXPECT_EQ(address.key, "train/a b+%.tar") << "the key is not percent-encoded";
  EXPECT_EQ(ToText(address), "s3://bucket/train/a b+%.tar");
  EXPECT_EQ(ParseAddress("GS://bucket/x")->scheme, Scheme::kGs);
  EXPECT_EQ(ParseAddress("s3://bucket/")->key, "");
}

TEST(AddressTest, AHostAPathAndAQuery) {
  const Address address = *ParseAddress("https://host.example:8443/a%20b/c.tar?X-Sig=abc&v=1");
  EXPECT_EQ(address.place, "host.example:8443");
  EXPECT_EQ(address.key, "/a%20b/c.tar");
  EXPECT_EQ(address.query, "X-Sig=abc&v=1");
  EXPECT_EQ(ToText(address), "https://host.example:8443/a%20b/c.tar?X-Sig=…&v=…");
  EXPECT_EQ(ParseAddress("http://[::1]:80/x")->place, "[::1]:80");
}

TEST(AddressTest, WhatIsNoAddressIsRefused) {
  for (const char* url : {"",
                          "/data/x.tar",
                          "ftp://host/x",
                          "s3://",
                          "s3:///key",
                          "s3://ab/key",
                          "s3://bucket",
                          "s3://buc ket/x",
                          "https://",
                          "https:///x",
                          "https://host",
                          "https://host:/x",
                          "https://host:99999x/x",
                          "https://host/a b",
                          "https://host/%2",
                          "https://host/x#y",
                          "https://host/../x",
                          "https://host/a/%2e%2e/x",
                          "https://ho st/x",
                          "s3://bucket/a\nb"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAddress(url).status())) << url;
  EXPECT_FALSE(ParseAddress("s3://bucket/" + std::string(1025, 'x')).ok());
}

TEST(AddressTest, APasswordIsRefusedAndNoSecretIsRepeated) {
  EXPECT_THAT(std::string(ParseAddress("https://user:hunter2@host/x").status().message()),
              HasSubstr("a user or a password"));
  for (const char* url : {"https://user:hunter2@host/x", "https://user:hunter2@host",
                          "https://user:hunter2@host/a\nb", "ftp://user:hunter2@host/x",
                          "https://host/a b?X-Sig=hunter2", "https://host/x?X-Sig=hunter2#y"}) {
    const absl::Status refused = ParseAddress(url).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << url;
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("hunter2"))) << url;
  }
}

TEST(AddressTest, PercentEncodingIsThatOfSignatures) {
  EXPECT_EQ(PercentEncode("aZ09-._~/ +=ü"), "aZ09-._~%2F%20%2B%3D%C3%BC");
  EXPECT_EQ(PercentEncode("a/b c", "/"), "a/b%20c");
  EXPECT_EQ(*PercentDecode("a%2Fb%c3%bc"), "a/b\xc3\xbc");
  for (const char* wrong : {"%", "%2", "%zz", "x%"})
    EXPECT_FALSE(PercentDecode(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace penstock::store
