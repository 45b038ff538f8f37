// Pages of a store's listing.
#include "server/store/client/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> KeysOf(const absl::StatusOr<ListPage>& page) {
  std::vector<std::string> keys;
  for (const ListedObject& object : page.value().objects) keys.push_back(object.key);
  return keys;
}

Address FolderAt(absl::string_view url) { return *ParseAddress(url); }

absl::StatusOr<ListPage> ReadPage(const std::string& body,
                                  absl::string_view folder = "s3://bucket/a/") {
  TransferAnswer answer;
  answer.code = 200;
  answer.body = body;
  return ToListPage(answer, FolderAt(folder));
}

std::string ToListing(const std::string& content) {
  return "<?xml version=\"1.0\"?>\n<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         content + "</ListBucketResult>";
}

std::string ToEntry(const std::string& key) {
  return "<Contents><Key>" + key + "</Key><Size>5</Size></Contents>";
}

TEST(ListingTest, ParametersAreSortedAndEncoded) {
  EXPECT_EQ(ToListRequest(FolderAt("s3://bucket/a b/"), {.endpoint = "http://h"}, "x/+=").url,
            "http://h/bucket/?continuation-token=x%2F%2B%3D&delimiter=%2F&encoding-type=url"
            "&list-type=2&prefix=a%20b%2F");
  EXPECT_EQ(ToListRequest(FolderAt("s3://bucket/"), {.endpoint = "http://h"}, "").url,
            "http://h/bucket/?delimiter=%2F&encoding-type=url&list-type=2&prefix=");
}

TEST(ListingTest, AWholePageHasNoNextOne) {
  const auto page = ReadPage(ToListing("<IsTruncated>false</IsTruncated><Prefix>a/</Prefix>" +
                                       ToEntry("a/1.tar") + ToEntry("a/2.tar") +
                                       "<CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(KeysOf(page), ElementsAre("a/1.tar", "a/2.tar"));
  EXPECT_EQ(page->next_token, "");
}

TEST(ListingTest, APageMayBeEmptyAndGoOn) {
  const auto page =
      ReadPage(ToListing("<IsTruncated>true</IsTruncated>"
                         "<NextContinuationToken>1/x+&amp;=</NextContinuationToken>"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(KeysOf(page), ElementsAre());
  EXPECT_EQ(page->next_token, "1/x+&=");
}

TEST(ListingTest, NamesAreDecodedAsTheAnswerSays) {
  const std::string encoded = "<EncodingType>url</EncodingType>";
  EXPECT_THAT(KeysOf(ReadPage(ToListing(encoded + ToEntry("a/with+space%2Bplus%26%3C.tar")))),
              ElementsAre("a/with space+plus&<.tar"));
  EXPECT_THAT(KeysOf(ReadPage(ToListing(encoded + ToEntry("a/%C3%BC%20.tar")))),
              ElementsAre("a/ü .tar"));
  EXPECT_THAT(KeysOf(ReadPage(ToListing(ToEntry("a/one+two&amp;&lt;three%20.tar")))),
              ElementsAre("a/one+two&<three%20.tar"));
  EXPECT_THAT(KeysOf(ReadPage(ToListing(ToEntry("a/&amp;lt;.tar")))), ElementsAre("a/&lt;.tar"));
}

TEST(ListingTest, AWholeTreeIsListedWithoutADelimiter) {
  const std::string url =
      ToListRequest(FolderAt("s3://bucket/a/"), {.endpoint = "http://h"}, "", ListDepth::kAll).url;
  EXPECT_EQ(url, "http://h/bucket/?encoding-type=url&list-type=2&prefix=a%2F");
}

TEST(ListingTest, SizesETagsAndFoldersAreRead) {
  const auto page = ReadPage(ToListing(
      "<EncodingType>url</EncodingType><Contents><Key>a/1.jpg</Key><Size>123456789012</Size>"
      "<ETag>&quot;abc-2&quot;</ETag></Contents><Contents><Key>a/2.jpg</Key></Contents>"
      "<CommonPrefixes><Prefix>a/b+c/</Prefix></CommonPrefixes>"
      "<CommonPrefixes><Prefix>a/d/</Prefix></CommonPrefixes>"));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->objects[0].bytes, 123456789012u);
  EXPECT_EQ(page->objects[0].etag, "\"abc-2\"");
  EXPECT_EQ(page->objects[1].bytes, 0u);
  EXPECT_EQ(page->objects[1].etag, "");
  EXPECT_THAT(page->folders, ElementsAre("a/b c/", "a/d/"));
}

TEST(ListingTest, WhatIsNoPageIsRefused) {
  const auto why = [](const std::string& body) {
    return std::string(ReadPage(body).status().message());
  };
  EXPECT_THAT(why("<html><Contents></html>"), HasSubstr("is none"));
  EXPECT_THAT(why("<ListBucketResult><Contents>"), HasSubstr("is none"));  // cut off
  EXPECT_THAT(why(ToListing("<IsTruncated>true</IsTruncated>")), HasSubstr("how it goes on"));
  EXPECT_THAT(why(ToListing("<Contents><Size>1</Size></Contents>")), HasSubstr("without a name"));
  EXPECT_THAT(why(ToListing(ToEntry("b/1.tar"))), HasSubstr("another folder"));
  EXPECT_THAT(why(ToListing("<Contents><Key>a/1</Key><Size>-1</Size></Contents>")),
              HasSubstr("without a size"));
  EXPECT_THAT(why(ToListing("<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>")),
              HasSubstr("a folder of another one"));
  EXPECT_FALSE(ReadPage(ToListing("<EncodingType>url</EncodingType>" + ToEntry("a/%zz"))).ok());
  TransferAnswer denied;
  denied.code = 403;
  denied.body = "<Error><Code>AccessDenied</Code></Error>";
  EXPECT_TRUE(absl::IsPermissionDenied(ToListPage(denied, FolderAt("s3://bucket/a/")).status()));
}

}  // namespace
}  // namespace penstock::store
