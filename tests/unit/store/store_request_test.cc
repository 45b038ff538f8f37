#include "server/store/client/store_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Address At(const std::string& url) { return ParseAddress(url).value(); }

TransferAnswer Answer(int code, std::vector<std::pair<std::string, std::string>> headers = {},
                      std::string body = "") {
  TransferAnswer answer;
  answer.code = code;
  answer.headers = std::move(headers);
  answer.body = std::move(body);
  return answer;
}

TEST(StoreRequestTest, UrlsAreThoseOfTheStore) {
  EXPECT_EQ(ToRequestUrl(At("s3://bucket/a b/c+"), {.region = "eu-west-1"}),
            "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/c%2B");
  EXPECT_EQ(ToRequestUrl(At("s3://my.bucket/x"), {}),
            "https://s3.us-east-1.amazonaws.com/my.bucket/x");
  EXPECT_EQ(ToRequestUrl(At("s3://bucket/x"), {.endpoint = "http://minio:9000/"}),
            "http://minio:9000/bucket/x");
  EXPECT_EQ(
      ToRequestUrl(At("s3://bucket/x"), {.endpoint = "https://s3.example", .path_style = false}),
      "https://bucket.s3.example/x");
  EXPECT_EQ(ToRequestUrl(At("gs://bucket/x"), {}), "https://storage.googleapis.com/bucket/x");
  EXPECT_EQ(ToRequestUrl(At("https://host/a%20b?q=1"), {.endpoint = "http://other"}),
            "https://host/a%20b?q=1");
}

TEST(StoreRequestTest, ChinaHasADomainOfItsOwn) {
  EXPECT_EQ(ToRequestUrl(At("s3://bucket/x"), {.region = "cn-north-1"}),
            "https://bucket.s3.cn-north-1.amazonaws.com.cn/x");
}

TEST(StoreRequestTest, OnlyRequestsToWebServersFollowRedirects) {
  const StoreAccess access = {.ca_file = "/ca", .follows_redirects = true};
  EXPECT_TRUE(ToStatRequest(At("https://host/x"), access).follows_redirects);
  EXPECT_FALSE(ToStatRequest(At("https://host/x"), {}).follows_redirects);
  EXPECT_FALSE(ToStatRequest(At("s3://bucket/x"), access).follows_redirects);
  EXPECT_EQ(ToStatRequest(At("s3://bucket/x"), access).ca_file, "/ca");
  EXPECT_EQ(ToStatRequest(At("https://host/x"), access).ca_file, "/ca");
}

TEST(StoreRequestTest, ARedirectThatIsNotFollowedSaysWhereItLeadsWithoutSecrets) {
  const auto words = [](std::vector<std::pair<std::string, std::string>> headers,
                        const std::string& body = "") {
    return std::string(
        ToStatus(Answer(301, std::move(headers), body), At("s3://bucket/x")).message());
  };
  EXPECT_THAT(words({{"x-amz-bucket-region", "eu-west-1"}}),
              HasSubstr("the bucket is in the region eu-west-1"));
  EXPECT_THAT(
      words({}, "<Error><Code>PermanentRedirect</Code><Endpoint>b.s3.eu</Endpoint></Error>"),
      HasSubstr("301 PermanentRedirect; the bucket is at the endpoint b.s3.eu"));
  EXPECT_THAT(words({{"location", "https://cdn.org/x?signature=hunter2"}}),
              AllOf(HasSubstr("redirects to https://cdn.org, which"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(words({{"location", "https://user:hunter2@cdn.org/"}}), Not(HasSubstr("hunter2")));
  EXPECT_THAT(words({{"location", "/x?hunter2"}}),
              AllOf(HasSubstr("another path of this server"), Not(HasSubstr("hunter2"))));
}

TEST(StoreRequestTest, TheRegionOfABucketIsInAHeaderOrInTheAnswer) {
  EXPECT_EQ(RegionIn(Answer(400, {{"x-amz-bucket-region", "eu-west-1"}})), "eu-west-1");
  EXPECT_EQ(RegionIn(Answer(400, {}, "<Error><Region>eu-west-2</Region></Error>")), "eu-west-2");
  EXPECT_EQ(RegionIn(Answer(200, {{"x-amz-bucket-region", "eu-west-1"}})), "");
  EXPECT_EQ(RegionIn(Answer(301, {{"x-amz-bucket-region", "evil.org/"}})), "");
}

TEST(StoreRequestTest, KeysMayHaveEndedWhereAStoreRefusesARequest) {
  const auto code = [](const std::string& name) {
    return "<Error><Code>" + name + "</Code></Error>";
  };
  for (const int refused : {401, 403}) EXPECT_TRUE(MayHaveEndedKeys(Answer(refused)));
  EXPECT_TRUE(MayHaveEndedKeys(Answer(400)));
  for (const char* name : {"ExpiredToken", "InvalidToken", "TokenRefreshRequired"})
    EXPECT_TRUE(MayHaveEndedKeys(Answer(400, {}, code(name)))) << name;
  EXPECT_FALSE(MayHaveEndedKeys(Answer(400, {}, code("InvalidRequest"))));
  for (const int other : {200, 206, 301, 404, 412, 503})
    EXPECT_FALSE(MayHaveEndedKeys(Answer(other))) << other;
}

TEST(StoreRequestTest, CredentialsGoToBucketsAlone) {
  const auto keys = std::make_shared<StoreKeys>(StoreKeys{.key_id = "id", .secret = "s"});
  EXPECT_NE(ToStatRequest(At("s3://bucket/x"), {.credentials = keys}).sign_with, nullptr);
  EXPECT_EQ(ToStatRequest(At("https://host/x"), {.credentials = keys}).sign_with, nullptr);
}

TEST(StoreRequestTest, AReadIsOfOneVersion) {
  const auto headers = [](const ObjectVersion& version) {
    return ToReadRequest(At("s3://bucket/x"), {}, version, {.offset = 1, .bytes = 2}).headers;
  };
  EXPECT_THAT(headers({.etag = "\"abc\"", .modified = "then"}),
              Contains(Pair("If-Match", "\"abc\"")));
  EXPECT_THAT(headers({.etag = "W/\"abc\"", .modified = "then"}),
              Contains(Pair("If-Unmodified-Since", "then")));
  EXPECT_THAT(ToReadRequest(At("gs://bucket/x"), {}, {}, {.offset = 0, .bytes = 1}).headers,
              Contains(Pair("Accept-Encoding", "gzip")));
}

TEST(StoreRequestTest, AVersionIsWhatTheAnswerSays) {
  const auto version = ToVersion(Answer(200, {{"content-length", "123"},
                                              {"etag", "\"e\""},
                                              {"last-modified", "Thu, 01 Jan 1970 00:00:10 GMT"}}),
                                 At("s3://bucket/x"));
  EXPECT_EQ(version->bytes, 123u);
  EXPECT_EQ(version->etag, "\"e\"");
  EXPECT_EQ(version->modified_ns, 10'000'000'000);
  EXPECT_TRUE(version->is_pinned());
  EXPECT_TRUE(absl::IsDataLoss(ToVersion(Answer(200), At("s3://bucket/x")).status()));
}

TEST(StoreRequestTest, AnotherVersionIsNoticedThoughTheServerIgnoredTheCondition) {
  const ObjectVersion version = {.bytes = 10, .etag = "\"e\""};
  EXPECT_TRUE(CheckVersion(Answer(206, {{"etag", "\"e\""}}), version, At("s3://bucket/x")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckVersion(Answer(206), version, At("s3://bucket/x"))));
  EXPECT_TRUE(absl::IsDataLoss(
      CheckVersion(Answer(206, {{"etag", "\"f\""}}), version, At("s3://bucket/x"))));
  TransferAnswer longer = Answer(206, {{"etag", "\"e\""}});
  longer.total_bytes = 11;
  EXPECT_TRUE(absl::IsDataLoss(CheckVersion(longer, version, At("s3://bucket/x"))));
}

TEST(StoreRequestTest, WithoutAnETagTheTimeTellsVersionsApart) {
  const ObjectVersion version = {.bytes = 10, .modified = "then"};
  const auto check = [&](const std::string& time) {
    return CheckVersion(Answer(206, {{"last-modified", time}}), version, At("https://host/x"));
  };
  EXPECT_TRUE(check("then").ok());
  EXPECT_TRUE(absl::IsDataLoss(check("now")));
  EXPECT_TRUE(absl::IsFailedPrecondition(check("")));
}

TEST(StoreRequestTest, AnETagOfNothingIsNone) {
  for (const std::string etag : {"\"\"", "W/\"\"", "", " \"\" "}) {
    const auto version = ToVersion(
        Answer(200, {{"content-length", "10"}, {"etag", etag}, {"last-modified", "then"}}),
        At("s3://bucket/x"));
    EXPECT_EQ(version->etag, "");
    EXPECT_TRUE(absl::IsDataLoss(CheckVersion(
        Answer(206, {{"etag", etag}, {"last-modified", "now"}}), *version, At("s3://bucket/x"))));
  }
}

TEST(StoreRequestTest, AnETagThatStaysTheSameDoesNotHideAnotherTime) {
  const ObjectVersion version = {.bytes = 10, .etag = "\"e\"", .modified = "then"};
  const auto check = [&](const std::string& etag, const std::string& time) {
    return CheckVersion(Answer(206, {{"etag", etag}, {"last-modified", time}}), version,
                        At("https://host/x"));
  };
  EXPECT_TRUE(check("\"e\"", "then").ok());
  EXPECT_TRUE(check("\"e\"", "").ok());
  EXPECT_TRUE(absl::IsDataLoss(check("\"e\"", "now")));
  EXPECT_TRUE(absl::IsDataLoss(check("\"f\"", "then")));
  EXPECT_TRUE(absl::IsFailedPrecondition(check("", "then")));
}

TEST(StoreRequestTest, AnswersMeanWhatStoresMeanByThem) {
  const auto status = [](int code, const std::string& body = "") {
    return ToStatus(Answer(code, {}, body), At("s3://bucket/x"));
  };
  EXPECT_TRUE(status(200).ok());
  EXPECT_TRUE(status(206).ok());
  for (const int code : {408, 429, 500, 502, 503, 504})
    EXPECT_TRUE(absl::IsUnavailable(status(code))) << code;
  EXPECT_TRUE(absl::IsUnavailable(status(400, "<Error><Code>RequestTimeout</Code></Error>")));
  EXPECT_TRUE(absl::IsNotFound(status(404)));
  EXPECT_TRUE(absl::IsPermissionDenied(status(403)));
  EXPECT_TRUE(absl::IsDataLoss(status(412)));
  EXPECT_TRUE(absl::IsDataLoss(status(416)));
  EXPECT_TRUE(absl::IsFailedPrecondition(status(400)));
  EXPECT_TRUE(absl::IsFailedPrecondition(status(301)));
  const std::string words(
      status(503, "<Error><Code>SlowDown</Code><Message>a\nb</Message>").message());
  EXPECT_THAT(words, HasSubstr("503 SlowDown: a\\nb"));
}

TEST(StoreRequestTest, APauseIsAtMostAnHour) {
  EXPECT_EQ(ToPause(Answer(503, {{"retry-after", "7"}})), std::chrono::seconds(7));
  EXPECT_EQ(ToPause(Answer(503, {{"retry-after", "99999999"}})), std::chrono::hours(1));
  EXPECT_EQ(ToPause(Answer(503, {{"retry-after", "soon"}})), base::Duration());
}

}  // namespace
}  // namespace penstock::store
