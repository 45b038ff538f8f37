// Operators' calls: rate limits, refusals, and what the server counts.
#include <sys/socket.h>

#include "server/rpc/calls/drain_news.h"
#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

TEST_F(ServerTest, WatchingGivesLookAfterLookAtTheIntervalThatIsAskedAndEndsWhenItIsCancelled) {
  v1::WatchStatusRequest request;
  request.set_interval_ms(100);
  const auto context = Context("");
  const auto stream = admin_->WatchStatus(context.get(), request);

  v1::WatchStatusResponse first, second;
  ASSERT_TRUE(stream->Read(&first) && stream->Read(&second));
  context->TryCancel();

  EXPECT_EQ(second.time_unix_ms(), first.time_unix_ms() + 1);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServerTest, TheDaemonLooksAtDatasetsWhenItIsAsked) {
  v1::ListDatasetsRequest look;
  look.set_look(true);
  v1::ListDatasetsResponse listed, looked;

  EXPECT_TRUE(admin_->ListDatasets(Context("").get(), {}, &listed).ok());
  EXPECT_TRUE(admin_->ListDatasets(Context("").get(), look, &looked).ok());

  EXPECT_EQ(listed.datasets_size(), 0);
  ASSERT_EQ(looked.datasets_size(), 1);
  EXPECT_EQ(looked.datasets(0).place().path(), "/looked/at");
}

TEST_F(ServerTest, MoreCallsThanMayBeUnderWayAreRefusedAndAnswersMakeRoom) {
  Serve({.max_calls = 1, .shutdown_timeout = std::chrono::milliseconds(50)});
  std::thread slow([&] {
    v1::OpenSessionResponse granted;
    EXPECT_TRUE(feed_->OpenSession(Context().get(), GoodRequest("slow"), &granted).ok());
  });
  ASSERT_TRUE(WaitFor([&] { return controller_.opened().size() == 1; }));
  v1::GetStatusResponse response;

  const grpc::Status refused = admin_->GetStatus(Context().get(), {}, &response);

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), ::testing::HasSubstr("wait for responses"));
  EXPECT_EQ(Open(GoodRequest("flowers")).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  controller_.LetGo();
  slow.join();
  EXPECT_TRUE(WaitFor([&] { return admin_->GetStatus(Context().get(), {}, &response).ok(); }));
}

TEST_F(ServerTest, MoreAnswersThanMayLeaveInASecondWaitForTheirTurn) {
  using std::chrono::steady_clock;
  Serve({.answers_per_second = 20, .answers_in_a_burst = 5});
  v1::GetStatusResponse response;
  const auto begun = steady_clock::now();

  for (int i = 0; i < 5 + 4; ++i)
    ASSERT_TRUE(admin_->GetStatus(Context().get(), {}, &response).ok());

  EXPECT_GE(steady_clock::now() - begun, std::chrono::milliseconds(4 * 50));
}

TEST_F(ServerTest, AnAnswerThatWaitsForItsTurnWhenTheServerEndsIsGiven) {
  Serve({.answers_per_second = 5, .answers_in_a_burst = 1});
  v1::GetStatusResponse response;
  ASSERT_TRUE(admin_->GetStatus(Context().get(), {}, &response).ok());
  grpc::Status late;
  std::thread caller([&] {
    v1::GetStatusResponse of_late;
    late = admin_->GetStatus(Context().get(), {}, &of_late);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the call has arrived and waits

  server_.reset();
  caller.join();

  EXPECT_TRUE(late.ok()) << late.error_message();
}

TEST_F(ServerTest, WhoWaitsNoLongerForAnAnswerKeepsNoTurn) {
  using std::chrono::steady_clock;
  Serve({.answers_per_second = 1,
         .answers_in_a_burst = 1,
         .shutdown_timeout = std::chrono::seconds(10)});
  v1::GetStatusResponse response;
  ASSERT_TRUE(admin_->GetStatus(Context().get(), {}, &response).ok());
  for (int i = 0; i < 5; ++i) {
    const auto context = Context();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    EXPECT_EQ(admin_->GetStatus(context.get(), {}, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  const auto begun = steady_clock::now();

  // The calls that timed out returned their turns, so this call gets the first one, a second after
  // the first call, and not the sixth.
  EXPECT_TRUE(admin_->GetStatus(Context().get(), {}, &response).ok());
  EXPECT_LT(steady_clock::now() - begun, std::chrono::milliseconds(4500));
  server_.reset();  // waits for calls in progress
  EXPECT_LT(steady_clock::now() - begun, std::chrono::milliseconds(5000));
}

TEST_F(ServerTest, MoreWatchersThanMayBeAreRefusedAndOneThatEndsMakesRoom) {
  Serve({.max_watchers = 1, .shutdown_timeout = std::chrono::milliseconds(50)});
  v1::WatchStatusResponse look;
  const auto first = Context();
  const auto watch = admin_->WatchStatus(first.get(), {});
  ASSERT_TRUE(watch->Read(&look));
  const auto second = Context();
  const auto refused = admin_->WatchStatus(second.get(), {});

  EXPECT_FALSE(refused->Read(&look));
  const grpc::Status status = refused->Finish();

  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("share of the 1 calls that may watch"));
  first->TryCancel();
  watch->Finish();
  EXPECT_TRUE(WaitFor([&] {
    const auto context = Context();
    const auto again = admin_->WatchStatus(context.get(), {});
    const bool read = again->Read(&look);
    context->TryCancel();
    return read;
  }));
}

TEST_F(ServerTest, AMessageThatIsTooLargeForGrpcIsCountedAndItsConnectionServesOn) {
  Serve({.max_message_bytes = 1000, .shutdown_timeout = std::chrono::milliseconds(50)});
  v1::ListQuarantineRequest request;
  v1::ListQuarantineResponse response;
  request.set_dataset(std::string(995, 'x'));

  EXPECT_TRUE(admin_->ListQuarantine(Context("").get(), request, &response).ok());
  EXPECT_TRUE(server_->audited().refused.empty());
  request.set_dataset(std::string(998, 'x'));
  EXPECT_EQ(admin_->ListQuarantine(Context("").get(), request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  EXPECT_THAT(server_->audited().refused,
              ::testing::ElementsAre(std::pair(std::pair("message", "limit"), 1)));
  request.clear_dataset();
  EXPECT_TRUE(admin_->ListQuarantine(Context("").get(), request, &response).ok());
}

// A packed message of a few KiB could take a thousand times its size.
TEST_F(ServerTest, PackedMessagesAreRefusedBeforeTheyAreUnpackedAndCounted) {
  v1::ListQuarantineRequest request;
  v1::ListQuarantineResponse response;
  request.set_dataset(std::string(8 << 20, 'x'));
  const auto context = Context("");
  context->set_compression_algorithm(GRPC_COMPRESS_GZIP);

  const grpc::Status refused = admin_->ListQuarantine(context.get(), request, &response);

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED) << refused.error_message();
  EXPECT_THAT(server_->audited().refused,
              ::testing::ElementsAre(std::pair(std::pair("message", "bad_request"), 1)));
  request.clear_dataset();
  EXPECT_TRUE(admin_->ListQuarantine(Context("").get(), request, &response).ok());
}

// Whether memory is used after its end shows under AddressSanitizer.
TEST_F(ServerTest, ARequestOfAWatcherMayOutliveTheServer) {
  controller_.keep_look = true;
  v1::WatchStatusResponse look;
  const auto context = Context();
  const auto watch = admin_->WatchStatus(context.get(), {});
  ASSERT_TRUE(watch->Read(&look));
  context->TryCancel();

  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
  server_.reset();
}

TEST_F(ServerTest, AnIntervalThatCannotBeIsRefusedWithWhatCan) {
  for (const uint32_t ms : {1u, 99u, 60'001u}) {
    v1::WatchStatusRequest request;
    request.set_interval_ms(ms);
    const auto context = Context("");
    const auto stream = admin_->WatchStatus(context.get(), request);
    v1::WatchStatusResponse response;
    EXPECT_FALSE(stream->Read(&response));

    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("100 to 60000"));
  }
}

TEST_F(ServerTest, AServerEndsAtOnceThoughSomebodyWatches) {
  const auto context = Context("");
  const auto stream = admin_->WatchStatus(context.get(), {});
  v1::WatchStatusResponse response;
  ASSERT_TRUE(stream->Read(&response));

  server_.reset();

  EXPECT_FALSE(stream->Read(&response));
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(ServerTest, ADrainTellsHowManyAreLeftUntilNoneIs) {
  const auto context = Context("");
  const auto stream = admin_->Drain(context.get(), {});
  std::vector<uint32_t> left;
  v1::DrainResponse response;

  while (stream->Read(&response)) left.push_back(response.sessions_left());

  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(left, ::testing::ElementsAre(3, 2, 1, 0));
  EXPECT_TRUE(response.done());
}

TEST(DrainNewsTest, WhatIsTheSameIsToldOnceASecondAndTheEndAlways) {
  DrainNews news;
  v1::DrainResponse two, one, none;
  two.set_sessions_left(2);
  one.set_sessions_left(1);
  none.set_done(true);
  const base::TimePoint start{std::chrono::hours(1)};

  EXPECT_TRUE(news.IsNews(two, start));
  EXPECT_FALSE(news.IsNews(two, start + std::chrono::milliseconds(999)));
  EXPECT_TRUE(news.IsNews(two, start + std::chrono::seconds(1)));
  EXPECT_TRUE(news.IsNews(one, start + std::chrono::milliseconds(1001)));
  EXPECT_TRUE(news.IsNews(none, start + std::chrono::milliseconds(1002)));
  EXPECT_TRUE(news.IsNews(none, start + std::chrono::milliseconds(1003)));
}

// ---- Logged refusals. ----

// Closing is idempotent, and callers must not learn whether another process has the session.
TEST_F(ServerTest, ASessionThatIsNotTheCallersIsAnsweredAsClosedAndWrittenDown) {
  v1::CloseSessionRequest request;
  v1::CloseSessionResponse closed;
  request.set_session_id(43);  // another process's
  EXPECT_TRUE(feed_->CloseSession(Context(kTicket).get(), request, &closed).ok());
  request.set_session_id(44);  // doesn't exist
  EXPECT_TRUE(feed_->CloseSession(Context(kTicket).get(), request, &closed).ok());

  const auto refused = server_->audited().refused;
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused.begin()->first,
            (std::pair<std::string, std::string>("FeedService.CloseSession", "not_owner")));
  EXPECT_EQ(refused.begin()->second, 1u);
}

// Connections that the server cuts off are counted by reason. A client that speaks HTTP/2 and
// disconnects isn't counted.
TEST_F(ServerTest, ConnectionsThatAreCutOffAreCountedByReason) {
  const posix::Fd garbage = *posix::Connect(path_, posix::SocketKind::kStream);
  ASSERT_GT(::send(garbage.get(), "\x00\x01garbage\r\n\r\n", 13, MSG_NOSIGNAL), 0);
  EXPECT_TRUE(Open(GoodRequest("flowers")).ok());

  const posix::Fd passing = *posix::Connect(path_, posix::SocketKind::kStream);
  const std::byte byte{'P'};
  const int descriptor = passing.get();
  ASSERT_TRUE(posix::Send(passing, {&byte, 1}, {&descriptor, 1}).ok());

  ASSERT_TRUE(WaitFor([&] { return server_->cut_off().at("not_http2") == 1; }));
  ASSERT_TRUE(WaitFor([&] { return server_->cut_off().at("descriptors") == 1; }));
  uint64_t all = 0;
  for (const auto& [reason, count] : server_->cut_off()) all += count;
  EXPECT_EQ(all, 2u);
  EXPECT_EQ(server_->cut_off().size(), 6u);
}

}  // namespace
}  // namespace penstock::rpc
