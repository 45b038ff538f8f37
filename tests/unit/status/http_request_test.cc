#include "server/status/http_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::status {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kLimit = 200;

HttpVerdict VerdictOn(const std::string& received) { return Judge(received, kLimit).verdict; }

TEST(HttpRequestTest, WhatIsNoRequestIsToldByItsFirstLine) {
  for (const std::string line :
       {"", " ", "GET", "GET /metrics", "GET  HTTP/1.1", "GET /metrics HTTP/2.0",
        "GET /metrics HTTP/1.1 ", "G@T /metrics HTTP/1.1", "GET /met rics HTTP/1.1",
        "\x16\x03\x01\x02", "GET /\x01 HTTP/1.1", "GET /\xff HTTP/1.1", "PRI * HTTP/2.0"})
    EXPECT_EQ(VerdictOn(line + "\r\n"), HttpVerdict::kBadRequest) << line;
}

TEST(HttpRequestTest, AHeadThatDoesNotEndIsTooLong) {
  const std::string line = "GET /metrics HTTP/1.1\r\n";
  std::string head = line + "X: ";
  head.append(kLimit - head.size() - 1, 'x');
  EXPECT_EQ(VerdictOn(head), HttpVerdict::kIncomplete);

  EXPECT_EQ(VerdictOn(head + "x"), HttpVerdict::kTooLong);
  EXPECT_EQ(VerdictOn(head + "\r\n\r\n"), HttpVerdict::kTooLong);
  EXPECT_EQ(VerdictOn(std::string(kLimit, 'x')), HttpVerdict::kTooLong);
}

TEST(HttpRequestTest, OtherMethodsAreRefused) {
  EXPECT_EQ(VerdictOn("POST /metrics HTTP/1.1\r\n\r\n"), HttpVerdict::kNotAllowed);
  EXPECT_EQ(VerdictOn("DELETE / HTTP/1.1\r\n\r\n"), HttpVerdict::kNotAllowed);
}

TEST(HttpRequestTest, TheQueryIsTakenAsItIs) {
  const auto query = [](const std::string& target) {
    return Judge("GET " + target + " HTTP/1.1\r\n\r\n", kLimit).query;
  };
  EXPECT_EQ(query("/"), "");
  EXPECT_EQ(query("/bad-sample?dataset=a%20b&sample=1?"), "dataset=a%20b&sample=1?");
}

TEST(HttpRequestTest, ThePathIsTakenAsItIsWithoutItsQuery) {
  const auto path = [](const std::string& target) {
    return Judge("GET " + target + " HTTP/1.1\r\n\r\n", kLimit).path;
  };
  EXPECT_EQ(path("/"), "/");
  EXPECT_EQ(path("/metrics"), "/metrics");
  EXPECT_EQ(path("/status.json?a=/b?c"), "/status.json");
  EXPECT_EQ(path("/metrics/../etc"), "/metrics/../etc");
  EXPECT_EQ(path("/%6Detrics"), "/%6Detrics");
  EXPECT_EQ(Judge("POST /metrics HTTP/1.1\r\n\r\n", kLimit).path, "");
}

TEST(HttpRequestTest, AnyPartOfARequestIsIncompleteUntilItIsWhole) {
  const std::string whole = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";

  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(VerdictOn(whole.substr(0, size)), HttpVerdict::kIncomplete) << size;

  EXPECT_EQ(VerdictOn(whole), HttpVerdict::kPage);
}

TEST(HttpRequestTest, ThePageIsAskedForInBothVersionsWithQueriesAndByHead) {
  EXPECT_EQ(VerdictOn("GET /metrics HTTP/1.0\r\n\r\n"), HttpVerdict::kPage);
  EXPECT_EQ(VerdictOn("GET /metrics HTTP/1.1\n\n"), HttpVerdict::kPage);
  EXPECT_EQ(VerdictOn("GET /metrics?a=b HTTP/1.1\r\nAccept: */*\r\n\r\n"), HttpVerdict::kPage);
  EXPECT_FALSE(Judge("GET /metrics HTTP/1.1\r\n\r\n", kLimit).head_only);
  EXPECT_TRUE(Judge("HEAD /metrics HTTP/1.1\r\n\r\n", kLimit).head_only);
}

// Prometheus 2.42's own.
constexpr char kPrometheus[] =
    "GET /metrics HTTP/1.1\r\nHost: a\r\nUser-Agent: Prometheus/2.42.0\r\n"
    "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
    "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n"
    "Accept-Encoding: gzip\r\n\r\n";

TEST(FindFormTest, PrometheusAsksForOpenMetricsAndGzip) {
  EXPECT_EQ(Judge(kPrometheus, 4096).form, (PageForm{.open_metrics = true, .gzip = true}));
}

TEST(FindFormTest, WhoNamesNothingGetsPlainText) {
  for (const char* head : {"", "Accept: */*\r\n", "Accept: text/html, */*;q=0.8\r\n",
                           "Accept-Encoding: br, identity\r\n", "Accept-Encoding: *\r\n"})
    EXPECT_EQ(FindForm(head), PageForm{}) << head;
}

TEST(FindFormTest, QualitiesDecide) {
  const auto accepts = [](const std::string& value) {
    return FindForm("ACCEPT: " + value + "\r\n").open_metrics;
  };
  EXPECT_TRUE(accepts("application/openmetrics-text"));
  EXPECT_TRUE(accepts("text/plain;q=0.5, Application/OpenMetrics-Text;q=0.6"));
  EXPECT_FALSE(accepts("text/plain, application/openmetrics-text;q=0.6"));
  EXPECT_FALSE(accepts("application/openmetrics-text;q=0"));
  EXPECT_FALSE(accepts("application/openmetrics-text;q=nonsense"));
  EXPECT_FALSE(accepts("application/openmetrics-textual"));
  EXPECT_FALSE(FindForm("Accept-Encoding: gzip;q=0\r\n").gzip);
  EXPECT_TRUE(FindForm("accept-encoding: deflate, gzip;q=0.1\r\n").gzip);
}

TEST(HttpRequestTest, AnAnswerNamesItsForm) {
  const std::string head =
      ResponseHead(HttpVerdict::kPage, 17, MetricsContent({.open_metrics = true, .gzip = true}));

  EXPECT_THAT(head, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; "
                              "charset=utf-8\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(head, HasSubstr("Vary: Accept, Accept-Encoding\r\n"));
  EXPECT_THAT(ResponseHead(HttpVerdict::kNotFound, 1),
              ::testing::AllOf(HasSubstr("text/plain; charset"), Not(HasSubstr("gzip"))));
}

TEST(HttpRequestTest, AnswersSayTypeLengthAndThatTheyAreTheLast) {
  const std::string head = ResponseHead(
      HttpVerdict::kPage, 17, {.type = "text/css", .headers = "X-Mine: 1\r\nX-Yours: 2\r\n"});

  EXPECT_THAT(head, ::testing::StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Type: text/css\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Mine: 1\r\nX-Yours: 2\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 17\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(head, ::testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(ResponseHead(HttpVerdict::kNotAllowed, 1), HasSubstr("Allow: GET, HEAD\r\n"));
}

}  // namespace
}  // namespace penstock::status
