// How the messages of a session over a Python dataset are read and written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "server/rpc/domain_to_message.h"
#include "server/rpc/message_to_domain.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

v1::OpenSessionRequest PythonRequest() {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  request.set_batch_size(32);
  v1::FeedSpec& feed = *request.mutable_feed();
  feed.set_dataset("python:id=ab,samples=100");
  feed.set_order(v1::ORDER_SEQUENTIAL);
  feed.mutable_python()->set_workers(4);
  return request;
}

v1::PythonFeed& Python(v1::OpenSessionRequest& request) {
  return *request.mutable_feed()->mutable_python();
}

// Makes it an iterable dataset of so many streams.
void Stream(v1::OpenSessionRequest& request, uint32_t streams) {
  Python(request).set_streams(streams);
  request.set_batch_size(1);
}

struct BadPython {
  std::string name;
  std::function<void(v1::OpenSessionRequest&)> spoil;
  std::string words;
};

class BadPythonTest : public ::testing::TestWithParam<BadPython> {};

TEST_P(BadPythonTest, IsRefusedInWordsThatNameTheField) {
  v1::OpenSessionRequest request = PythonRequest();
  ASSERT_TRUE(SessionFrom(request).ok()) << SessionFrom(request).status();

  GetParam().spoil(request);

  const absl::Status refused = SessionFrom(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    EachField, BadPythonTest,
    ::testing::Values(
        BadPython{"NoWorkers", [](auto& r) { Python(r).set_workers(0); },
                  "feed.python.workers: wanted 1 to 256, got 0"},
        BadPython{"TooManyWorkers", [](auto& r) { Python(r).set_workers(257); },
                  "feed.python.workers: wanted 1 to 256, got 257"},
        BadPython{"BatchesTooSmall", [](auto& r) { Python(r).set_max_batch_bytes(4095); },
                  "feed.python.max_batch_bytes: wanted 4096 to 17179869184, or 0 for the default, "
                  "got 4095"},
        BadPython{"BatchesTooLarge",
                  [](auto& r) { Python(r).set_max_batch_bytes((uint64_t{16} << 30) + 1); },
                  "got 17179869185"},
        BadPython{"TimeoutOfMoreThanADay", [](auto& r) { Python(r).set_timeout_ms(86'400'001); },
                  "feed.python.timeout_ms: wanted at most 86400000 (a day)"},
        BadPython{"TimeoutThatOverflows", [](auto& r) { Python(r).set_timeout_ms(~uint64_t{0}); },
                  "got 18446744073709551615"},
        BadPython{"MoreStreamsThanWorkers", [](auto& r) { Python(r).set_streams(5); },
                  "feed.python.streams: wanted at most one for each of 4 workers, got 5"},
        BadPython{"ShuffledStreams",
                  [](auto& r) {
                    Stream(r, 2);
                    r.mutable_feed()->set_order(v1::ORDER_SHUFFLED);
                  },
                  "feed.order: wanted ORDER_SEQUENTIAL (1)"},
        BadPython{"StreamsInAGivenOrder",
                  [](auto& r) {
                    Stream(r, 2);
                    r.mutable_feed()->set_order(v1::ORDER_GIVEN);
                    r.mutable_feed()->set_given_order(7);
                  },
                  "feed.order: wanted ORDER_SEQUENTIAL (1)"},
        BadPython{"ARangeOfStreams",
                  [](auto& r) {
                    Stream(r, 2);
                    r.mutable_feed()->mutable_range()->set_count(5);
                  },
                  "feed.range: wanted none"},
        BadPython{"RanksOfStreams",
                  [](auto& r) {
                    Stream(r, 2);
                    r.set_world_size(2);
                  },
                  "world_size: wanted 1, because an iterable dataset"},
        BadPython{"ReplacedSamplesOfStreams",
                  [](auto& r) {
                    Stream(r, 2);
                    Python(r).set_replace_bad_samples(true);
                  },
                  "feed.python.replace_bad_samples: wanted false"}),
    [](const auto& tested) { return tested.param.name; });

TEST(PythonRequestTest, EveryOptionIsRead) {
  v1::OpenSessionRequest request = PythonRequest();
  Python(request).set_max_batch_bytes(4096);
  Python(request).set_timeout_ms(86'400'000);
  Python(request).set_digest(7);
  Python(request).set_replace_bad_samples(true);

  const session::Request read = SessionFrom(request).value();

  EXPECT_EQ(
      read.feed.python,
      (session::PythonFeed{.max_batch_bytes = 4096, .digest = 7, .replace_bad_samples = true}));
  EXPECT_EQ(read.python_workers.count, 4u);
  EXPECT_EQ(read.python_workers.timeout, std::chrono::hours(24));
}

TEST(PythonRequestTest, AnIterableDatasetHasStreams) {
  v1::OpenSessionRequest request = PythonRequest();
  Stream(request, 4);

  EXPECT_EQ(SessionFrom(request).value().feed.python->streams, 4u);
}

TEST(PythonRequestTest, OptionsThatAreNotSetHaveDefaults) {
  const session::Request read = SessionFrom(PythonRequest()).value();

  EXPECT_EQ(read.feed.python, session::PythonFeed());
  EXPECT_EQ(read.python_workers.timeout, base::Duration::zero());
}

TEST(PythonRequestTest, WithoutThemTheFeedIsNoPythonFeed) {
  v1::OpenSessionRequest request = PythonRequest();
  request.mutable_feed()->clear_python();

  EXPECT_FALSE(SessionFrom(request).value().feed.python.has_value());
}

TEST(PythonGrantTest, SaysWhereTheBatchIsAndHowAHostEnters) {
  session::Grant grant = {.labeled = false,
                          .layout = {.ids_offset = 64, .slot_bytes = 1 << 21, .made_offset = 8192}};
  grant.host = {.max_batch_bytes = 1 << 20};
  grant.host->token.fill(0xab);

  const v1::OpenSessionResponse message = MessageOf(grant);

  EXPECT_EQ(message.made().data_offset(), 8192u);
  EXPECT_EQ(message.made().max_batch_bytes(), 1u << 20);
  EXPECT_EQ(message.made().host_token(), std::string(16, '\xab'));
  EXPECT_EQ(message.row_bytes(), 0u);
  EXPECT_EQ(message.tensors_size(), 0);
  EXPECT_EQ(message.slot_bytes(), 1u << 21);
}

TEST(PythonGrantTest, OtherDatasetsHaveNone) {
  EXPECT_FALSE(MessageOf(session::Grant{}).has_made());
}

}  // namespace
}  // namespace penstock::rpc
