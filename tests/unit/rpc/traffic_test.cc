#include "server/rpc/transport/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/rpc/transport/origin.h"
#include "tests/support/programs/raw_http2.h"

namespace penstock::rpc {
namespace {

using penstock::testing::Http2Frame;
using penstock::testing::Http2Ping;
using penstock::testing::Http2Preface;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr base::Duration kNoWait{};
constexpr uint8_t kEndOfStream = 1, kEndOfHeaders = 4;

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string Call(uint32_t stream) { return Http2Frame(1, kEndOfHeaders, stream, "headers"); }
std::string GiveUp(uint32_t stream) { return Http2Frame(3, 0, stream, "code"); }
std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

class TrafficTest : public ::testing::Test {
 protected:
  TrafficTest() { EXPECT_EQ(Pass(Http2Preface()), Http2Preface().size()); }

  // Sends these bytes. Returns how many may pass.
  size_t Pass(const std::string& bytes) {
    const auto verdict = traffic_.FromClient(BytesOf(bytes), now_);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    wait_ = verdict.ok() ? verdict->wait : kNoWait;
    return verdict.ok() ? verdict->pass : 0;
  }
  absl::Status Refusal(const std::string& bytes) {
    return traffic_.FromClient(BytesOf(bytes), now_).status();
  }
  std::vector<UntakenMessage> Untaken(const std::string& bytes) {
    const auto verdict = traffic_.FromClient(BytesOf(bytes), now_);
    EXPECT_TRUE(verdict.ok() && verdict->pass == bytes.size());
    return verdict.ok() ? verdict->untaken : std::vector<UntakenMessage>();
  }
  void Answer(const std::string& bytes) { traffic_.FromServer(BytesOf(bytes)); }

  base::TimePoint now_ = base::TimePoint() + std::chrono::hours(1);
  base::Duration wait_{};
  std::shared_ptr<UserTraffic> user_ = std::make_shared<UserTraffic>();
  TrafficLimits limits_ = {.unanswered = 4,
                           .calls = {100, 3},
                           .resets = {10, 2},
                           .controls = {1000, 50},
                           .open_calls = 5,
                           .header_frames = 3,
                           .header_bytes = 100,
                           .small_data = 8,
                           .small_frames = 6,
                           .message_bytes = 20};
  Traffic traffic_{limits_, user_};
};

TEST_F(TrafficTest, WhatIsNoHttp2IsRefused) {
  Traffic fresh(limits_, user_);

  EXPECT_TRUE(fresh.FromClient(BytesOf("PRI * HTT"), now_).ok());
  EXPECT_THAT(fresh.FromClient(BytesOf("GET / HTTP/1.1"), now_).status().message(),
              HasSubstr("HTTP/2"));
}

TEST_F(TrafficTest, PingsAndSettingsWaitUntilTheOnesBeforeAreAnswered) {
  const std::string ping = Http2Ping();

  // The first SETTINGS has not been answered yet.
  EXPECT_EQ(Pass(Times(10, ping)), 3 * ping.size());
  EXPECT_EQ(wait_, kNoWait);
  Answer(Http2Frame(4, 1, 0, "") + Http2Ping(true));
  EXPECT_EQ(Pass(Times(7, ping)), 2 * ping.size());
  EXPECT_EQ(traffic_.unanswered(), 4u);
}

TEST_F(TrafficTest, AnswersAreUnderstoodInWhateverPiecesTheyCome) {
  Pass(Times(3, Http2Ping()));
  const std::string answers = Http2Frame(0, 0, 1, "data") + Http2Ping(true) +
                              Http2Frame(4, 1, 0, "") + Http2Frame(4, 0, 0, "123456") +
                              Http2Ping(true);

  for (const char byte : answers) Answer(std::string(1, byte));

  EXPECT_EQ(traffic_.unanswered(), 1u);
}

TEST_F(TrafficTest, APingThatIsAnAnswerAsksForNone) {
  EXPECT_EQ(Pass(Times(10, Http2Ping(true))), 10 * Http2Ping().size());
}

TEST_F(TrafficTest, CallsPassInTurnAndInTime) {
  std::string calls;
  for (uint32_t stream = 1; stream <= 9; stream += 2) calls += Call(stream);
  const size_t each = Call(1).size();

  EXPECT_EQ(Pass(calls), 3 * each);
  EXPECT_GT(wait_, kNoWait);
  EXPECT_LE(wait_, std::chrono::milliseconds(10));
  now_ += wait_;
  EXPECT_EQ(Pass(calls.substr(3 * each)), each);
  EXPECT_EQ(traffic_.open_calls(), 4u);
}

TEST_F(TrafficTest, ACallIsOverWhenItIsAnsweredOrGivenUp) {
  Pass(Call(1) + Call(3) + Call(5));

  Answer(Http2Frame(1, kEndOfHeaders, 1, "headers") + Http2Frame(0, 0, 1, "data"));
  EXPECT_EQ(traffic_.open_calls(), 3u);
  Answer(Http2Frame(1, kEndOfHeaders | kEndOfStream, 1, "trailers") + GiveUp(3));
  EXPECT_EQ(traffic_.open_calls(), 1u);
  Pass(GiveUp(5));
  EXPECT_EQ(traffic_.open_calls(), 0u);
}

TEST_F(TrafficTest, CallsThatAreGivenUpPassSlowly) {
  Pass(Call(1) + Call(3) + Call(5));

  EXPECT_EQ(Pass(GiveUp(1) + GiveUp(3) + GiveUp(5)), 2 * GiveUp(1).size());
  EXPECT_EQ(wait_, std::chrono::milliseconds(100));
}

TEST_F(TrafficTest, TooManyCallsAtOnceAreRefused) {
  for (uint32_t stream = 1; stream <= 9; stream += 2) {
    EXPECT_EQ(Pass(Call(stream)), Call(stream).size());
    now_ += std::chrono::seconds(1);
  }

  EXPECT_THAT(Refusal(Call(11)).message(), HasSubstr("calls at once"));
}

TEST_F(TrafficTest, HeadersHaveAnEnd) {
  const std::string more = Http2Frame(9, 0, 1, "more");
  Pass(Http2Frame(1, 0, 1, "headers") + more + more);

  EXPECT_THAT(Refusal(more).message(), HasSubstr("4 frames"));
}

TEST_F(TrafficTest, HeadersAreNotLong) {
  EXPECT_THAT(Refusal(Http2Frame(1, kEndOfHeaders, 1, std::string(101, 'x'))).message(),
              HasSubstr("101 bytes"));
}

TEST_F(TrafficTest, NothingComesBetweenHeadersAndNothingGoesOnThatDidNotBegin) {
  EXPECT_FALSE(Refusal(Http2Frame(9, 0, 1, "more")).ok());
  Pass(Http2Frame(1, 0, 0, "headers"));
  EXPECT_FALSE(Refusal(Http2Ping()).ok());
  EXPECT_FALSE(Refusal(Call(1)).ok());
  EXPECT_FALSE(Refusal(Http2Frame(9, kEndOfHeaders, 3, "more")).ok());
  EXPECT_TRUE(Refusal(Http2Frame(9, kEndOfHeaders, 0, "more")).ok());
}

TEST_F(TrafficTest, DataPassesAtOnceAndInPiecesOfTheSizeOfAByteForAWhile) {
  const std::string large = Http2Frame(0, 0, 1, std::string(8, 'x'));
  const std::string small = Http2Frame(0, 0, 1, "x");
  Pass(Call(1));

  EXPECT_EQ(Pass(Times(1000, large)), 1000 * large.size());
  EXPECT_EQ(Pass(Times(6, small)), 6 * small.size());
  EXPECT_EQ(user_->small_frames, 6u);
  EXPECT_THAT(Refusal(small).message(), HasSubstr("pieces"));
  Answer(GiveUp(1));
  EXPECT_EQ(user_->small_frames, 0u);
}

TEST_F(TrafficTest, OtherFramesPassAtAPace) {
  const std::string update = Http2Frame(8, 0, 0, "1234");

  EXPECT_EQ(Pass(Times(100, update)), 49 * update.size());  // one token went to the SETTINGS before
  now_ += std::chrono::milliseconds(10);
  EXPECT_EQ(Pass(Times(100, update)), 10 * update.size());
}

TEST_F(TrafficTest, AUsersConnectionsShareTheUsersPace) {
  user_->calls = base::TokenBucket({10, 4});
  Traffic another(limits_, user_);
  ASSERT_TRUE(another.FromClient(BytesOf(Http2Preface()), now_).ok());

  EXPECT_EQ(Pass(Call(1) + Call(3) + Call(5)), 3 * Call(1).size());

  EXPECT_EQ(another.FromClient(BytesOf(Call(1) + Call(3)), now_)->pass, Call(1).size());
}

TEST_F(TrafficTest, WhatEndsGivesBackWhatTheUserShares) {
  {
    Traffic another(limits_, user_);
    ASSERT_TRUE(
        another.FromClient(BytesOf(Http2Preface() + Call(1) + Http2Frame(0, 0, 1, "x")), now_)
            .ok());
    ASSERT_EQ(user_->small_frames, 1u);
  }
  EXPECT_EQ(user_->small_frames, 0u);
}

TEST_F(TrafficTest, ThePiecesInWhichBytesComeChangeNothing) {
  const std::string all = Call(1) + Http2Frame(0, kEndOfStream, 1, "message") + Http2Ping();
  std::string held;
  size_t passed = 0;
  for (const char byte : all) {
    held += byte;
    const size_t pass = Pass(held);
    held.erase(0, pass);
    passed += pass;
  }
  EXPECT_EQ(passed, all.size());
}

std::string Message(uint32_t bytes) {
  std::string prefix(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) prefix += static_cast<char>(bytes >> shift & 0xff);
  return prefix + std::string(bytes, 'x');
}

// Messages of the limit's size and below are not told of, whatever comes after them.
TEST_F(TrafficTest, MessagesThatAreTooLargeAreToldOfOnceEach) {
  Pass(Call(1) + Call(3));
  const std::string fit = Message(20) + Message(0) + Message(19), large = Message(21);

  EXPECT_THAT(Untaken(Http2Frame(0, 0, 1, fit)), IsEmpty());
  EXPECT_THAT(Untaken(Http2Frame(0, 0, 1, large) + Http2Frame(0, 0, 1, large)),
              ElementsAre(UntakenMessage{21}));
  EXPECT_THAT(Untaken(Http2Frame(0, 0, 3, Message(5) + large)), ElementsAre(UntakenMessage{21}));
  EXPECT_THAT(Untaken(Http2Frame(0, 0, 5, large)), IsEmpty());  // no call
}

TEST_F(TrafficTest, PackedMessagesAreToldOfWhateverTheirSize) {
  Pass(Call(1));
  std::string packed = Message(3);
  packed[0] = 1;

  EXPECT_THAT(Untaken(Http2Frame(0, 0, 1, Message(3) + packed)),
              ElementsAre(UntakenMessage{.bytes = 3, .is_packed = true}));
}

TEST_F(TrafficTest, ThePiecesAndThePaddingOfAMessageChangeNothing) {
  constexpr uint8_t kPadded = 8;
  Pass(Call(1));
  const std::string all = Message(9) + Message(70000), padding(3, '\xff');
  const std::string frames = Http2Frame(0, kPadded, 1, '\3' + all.substr(0, 8) + padding) +
                             Http2Frame(0, kPadded, 1, '\3' + all.substr(8, 8) + padding) +
                             Http2Frame(0, 0, 1, all.substr(16, 8));

  std::vector<UntakenMessage> told;
  std::string held;
  for (const char byte : frames) {
    held += byte;
    const auto verdict = traffic_.FromClient(BytesOf(held), now_);
    ASSERT_TRUE(verdict.ok());
    told.insert(told.end(), verdict->untaken.begin(), verdict->untaken.end());
    held.erase(0, verdict->pass);
  }

  EXPECT_THAT(told, ElementsAre(UntakenMessage{70000}));
  EXPECT_THAT(Untaken(Http2Frame(0, kPadded, 1, "\xff")), IsEmpty());  // padding beyond the frame
}

TEST(OriginTest, TheNameOfAConnectionSaysWhoseItIsAndFitsAnAddress) {
  EXPECT_EQ(OriginName({.user = 54321, .pid = 4242}, 0xABCDEF),
            "penstock-0000000000abcdef-54321-4242");
  EXPECT_LT(OriginName({.user = UINT32_MAX, .pid = INT32_MAX}, UINT64_MAX).size(), 100u);
}

}  // namespace
}  // namespace penstock::rpc
