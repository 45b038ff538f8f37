// One connection, over a socket pair instead of a network.
#include "server/status/http_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using State = HttpConnection::State;

class HttpConnectionTest : public ::testing::Test {
 protected:
  HttpConnectionTest() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    peer_ = posix::Fd(pair[0]);
    connection_.emplace(posix::Fd(pair[1]), HttpConnection::Limits{.request_bytes = 100},
                        clock_.Now());
  }
  void Say(const std::string& text) {
    EXPECT_EQ(::send(peer_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    connection_->Proceed(clock_.Now());
  }
  std::string Hear() {
    std::string heard(1 << 20, '\0');
    const ssize_t got = ::recv(peer_.get(), heard.data(), heard.size(), 0);
    heard.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return heard;
  }
  void Answer(const std::string& page) {
    connection_->Answer({.body = std::make_shared<const std::string>(page)}, clock_.Now());
  }

  base::ManualClock clock_;
  posix::Fd peer_;
  std::optional<HttpConnection> connection_;
};

TEST_F(HttpConnectionTest, WhoSaysNothingIsGivenUp) {
  clock_.Advance(milliseconds(1999));
  EXPECT_FALSE(connection_->Expire(clock_.Now()));

  clock_.Advance(milliseconds(1));
  EXPECT_TRUE(connection_->Expire(clock_.Now()));

  EXPECT_EQ(connection_->state(), State::kDone);
}

TEST_F(HttpConnectionTest, AByteNowAndThenBuysNoTime) {
  for (const char* byte : {"G", "E", "T", " "}) {
    Say(byte);
    clock_.Advance(milliseconds(500));
  }

  EXPECT_TRUE(connection_->Expire(clock_.Now()));
}

TEST_F(HttpConnectionTest, WhoLeavesInTheMiddleIsDone) {
  Say("GET /met");

  peer_.Close();
  connection_->Proceed(clock_.Now());

  EXPECT_EQ(connection_->state(), State::kDone);
}

TEST_F(HttpConnectionTest, GarbageIsAnsweredInWords) {
  Say("\x16\x03\x01\n");

  ASSERT_EQ(connection_->state(), State::kAsked);
  Answer("the page");

  EXPECT_THAT(Hear(), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("GET /metrics"),
                            ::testing::Not(HasSubstr("the page"))));
}

TEST_F(HttpConnectionTest, WhatIsTooLongIsAnsweredAndTheRestThrownAway) {
  Say("GET /metrics HTTP/1.1\r\nX: " + std::string(5000, 'x'));
  ASSERT_EQ(connection_->state(), State::kAsked);

  Answer("");

  EXPECT_THAT(Hear(), StartsWith("HTTP/1.1 431 "));
  EXPECT_EQ(connection_->state(), State::kLeaving);
}

TEST_F(HttpConnectionTest, APageThatIsNotThereIsNotFound) {
  Say("GET /secret HTTP/1.1\r\n\r\n");
  ASSERT_EQ(connection_->state(), State::kAsked);

  connection_->Answer({.body = nullptr, .content = {.type = "text/html"}}, clock_.Now());

  EXPECT_THAT(Hear(), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("Content-Type: text/plain"),
                            HasSubstr("/metrics")));
}

TEST_F(HttpConnectionTest, ARouteMaySayInItsOwnWordsWhyThereIsNoPage) {
  Say("GET /bad-sample HTTP/1.1\r\n\r\n");

  connection_->Answer({.body = std::make_shared<const std::string>("the storage hangs"),
                       .verdict = HttpVerdict::kUnavailable},
                      clock_.Now());

  EXPECT_THAT(Hear(), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("\r\n\r\nthe storage hangs")));
}

TEST_F(HttpConnectionTest, ThePageComesWholeThroughANarrowSocket) {
  const std::string page(3 << 20, 'p');
  Say("GET /metrics HTTP/1.1\r\n\r\n");

  Answer(page);
  std::string heard = Hear();
  EXPECT_EQ(connection_->state(), State::kWriting);
  for (int i = 0; i < 10'000 && connection_->state() == State::kWriting; ++i) {
    connection_->Proceed(clock_.Now());
    heard += Hear();
  }
  for (std::string more = Hear(); !more.empty(); more = Hear()) heard += more;

  EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_TRUE(heard.ends_with("\r\n\r\n" + page));
}

TEST_F(HttpConnectionTest, WhoDoesNotReadIsGivenUp) {
  Say("GET /metrics HTTP/1.1\r\n\r\n");
  Answer(std::string(3 << 20, 'p'));

  clock_.Advance(seconds(5 + 12) - std::chrono::milliseconds(1));  // 256 KiB a second
  EXPECT_FALSE(connection_->Expire(clock_.Now()));
  clock_.Advance(std::chrono::milliseconds(1));

  EXPECT_TRUE(connection_->Expire(clock_.Now()));
}

TEST_F(HttpConnectionTest, WhatIsAnsweredLateHasAsMuchTimeToBeSent) {
  Say("GET /bad-sample HTTP/1.1\r\n\r\n");
  clock_.Advance(std::chrono::milliseconds(4900));
  Answer(std::string(3 << 20, 'p'));

  clock_.Advance(std::chrono::seconds(16));

  EXPECT_FALSE(connection_->Expire(clock_.Now()));
}

TEST_F(HttpConnectionTest, ToHeadTheHeadAloneIsAnswered) {
  Say("HEAD /metrics HTTP/1.1\r\n\r\n");

  Answer("the page");

  EXPECT_THAT(Hear(), AllOf(HasSubstr("Content-Length: 8\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(HttpConnectionTest, WhenThePeerClosesAfterItsAnswerItIsDone) {
  Say("GET /metrics HTTP/1.1\r\n\r\n");
  Answer("the page");
  EXPECT_EQ(connection_->state(), State::kLeaving);

  peer_.Close();
  connection_->Proceed(clock_.Now());

  EXPECT_EQ(connection_->state(), State::kDone);
}

}  // namespace
}  // namespace penstock::status
