#include <sys/socket.h>

#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ServerTest, ACallWithoutATicketIsUnauthenticatedAndReachesNobody) {
  const grpc::Status status = Open(GoodRequest("flowers"), "");

  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("say Hello at the doorway"));
  EXPECT_TRUE(controller_.opened().empty());
}

TEST_F(ServerTest, EveryCallOfATrainerButTheVersionNeedsATicket) {
  v1::DescribeDatasetRequest describe;
  describe.set_dataset("flowers");
  v1::DescribeDatasetResponse described;
  v1::CloseSessionRequest close;
  close.set_session_id(42);
  v1::CloseSessionResponse closed;
  v1::GetVersionResponse version;

  const auto on_describe = feed_->DescribeDataset(Context("x").get(), describe, &described);
  const auto on_close = feed_->CloseSession(Context("").get(), close, &closed);
  const auto on_version = feed_->GetVersion(Context("").get(), {}, &version);

  EXPECT_EQ(on_describe.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(on_close.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(on_version.ok());
  EXPECT_EQ(version.protocol_version(), shm::kProtocolVersion);
  EXPECT_FALSE(version.daemon_version().empty());
}

TEST_F(ServerTest, ABadRequestReachesNobody) {
  v1::OpenSessionRequest request = GoodRequest("flowers");
  request.set_batch_size(0);

  const grpc::Status status = Open(request);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("batch_size"));
  EXPECT_TRUE(controller_.opened().empty());
}

TEST_F(ServerTest, AnOldClientIsRefusedInWords) {
  v1::OpenSessionRequest request = GoodRequest("flowers");
  request.set_protocol_version(0);

  const grpc::Status status = Open(request);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("upgrade the client library"));
}

TEST_F(ServerTest, TheControllersRefusalArrivesWithItsCodeAndWords) {
  const grpc::Status status = Open(GoodRequest("unknown"));

  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no dataset 'unknown'; known: flowers");
}

TEST_F(ServerTest, AMessageLargerThanAMebibyteIsRefused) {
  v1::OpenSessionRequest request = GoodRequest("flowers");
  request.set_name(std::string(2 << 20, 'x'));

  EXPECT_EQ(Open(request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServerTest, BadRequestsOfAnOperatorAreRefused) {
  v1::ClearQuarantineResponse cleared;
  v1::IndexDatasetResponse progress;
  const auto index_context = Context("");

  const auto on_clear = admin_->ClearQuarantine(Context("").get(), {}, &cleared);
  const auto index = admin_->IndexDataset(index_context.get(), {});
  const bool has_read = index->Read(&progress);

  EXPECT_EQ(on_clear.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_FALSE(has_read);
  EXPECT_EQ(index->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, AConnectionThatSaysNoHttpDoesNotDisturbOthers) {
  const posix::Fd garbage = *posix::Connect(path_, posix::SocketKind::kStream);
  ASSERT_GT(::send(garbage.get(), "\x00\x01garbage\r\n\r\n", 13, MSG_NOSIGNAL), 0);

  EXPECT_TRUE(Open(GoodRequest("flowers")).ok());
}

TEST_F(ServerTest, MoreConnectionsThanAllowedAreClosedAndThereIsRoomAgainAfterwards) {
  std::vector<posix::Fd> many;
  for (int i = 0; i < 8; ++i) many.push_back(*posix::Connect(path_, posix::SocketKind::kStream));
  ASSERT_TRUE(WaitFor([&] { return server_->connections() == 8; }));

  EXPECT_EQ(Open(GoodRequest("flowers")).error_code(), grpc::StatusCode::UNAVAILABLE);

  many.clear();
  ASSERT_TRUE(WaitFor([&] { return server_->connections() == 0; }));
  const auto patient = Context();
  patient->set_wait_for_ready(true);
  EXPECT_TRUE(feed_->OpenSession(patient.get(), GoodRequest("flowers"), &granted_).ok());
}

TEST_F(ServerTest, ACancelledCallIsAnsweredAtOnceAndTheLateAnswerIsIgnored) {
  ASSERT_TRUE(Open(GoodRequest("flowers")).ok());  // connects, which takes long on a busy machine
  const auto context = Context();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));

  const grpc::Status status = feed_->OpenSession(context.get(), GoodRequest("slow"), &granted_);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(WaitFor([&] { return controller_.held() == 1; }));
  controller_.LetGo();
  EXPECT_TRUE(Open(GoodRequest("flowers")).ok());
}

TEST_F(ServerTest, ItsEndDoesNotWaitForAControllerThatNeverAnswers) {
  std::thread caller([this] {
    const grpc::Status status = Open(GoodRequest("slow"));
    EXPECT_FALSE(status.ok());
  });
  v1::IndexDatasetRequest endless;
  endless.set_dataset("endless");
  const auto context = Context("");
  const auto index = admin_->IndexDataset(context.get(), endless);
  ASSERT_TRUE(WaitFor([&] { return controller_.held() == 2; }));

  server_.reset();

  EXPECT_FALSE(index->Finish().ok());
  caller.join();
  controller_.LetGo();  // answers calls that have ended
}

TEST_F(ServerTest, ASessionIsOpenedAsAskedAndTheGrantArrivesWhole) {
  const grpc::Status status = Open(GoodRequest("flowers"));

  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(controller_.opened().size(), 1u);
  EXPECT_EQ(controller_.opened()[0].ticket.bytes[15], 15);
  EXPECT_EQ(controller_.opened()[0].request.first_epoch, 0u);
  EXPECT_EQ(granted_.session_id(), 42u);
  EXPECT_EQ(granted_.delivery(), v1::DELIVERY_HOST);
  EXPECT_EQ(granted_.height(), 224u);
  EXPECT_EQ(granted_.width(), 160u);
  EXPECT_EQ(granted_.channels(), 3u);
  EXPECT_EQ(granted_.row_bytes(), 3u * 224 * 160);
  EXPECT_EQ(granted_.labels_offset(), 4096u);
  EXPECT_EQ(granted_.slot_bytes(), 12288u);
  ASSERT_EQ(granted_.tensors_size(), 1);
  EXPECT_EQ(granted_.tensors(0).name(), "image");
  EXPECT_EQ(granted_.tensors(0).row_stride(), 3u * 224 * 160);
}

TEST_F(ServerTest, SlabsAreListedWithWhatProvesThem) {
  v1::ListSlabsRequest request;
  v1::ListSlabsResponse slabs;
  request.set_session_id(42);

  ASSERT_TRUE(feed_->ListSlabs(Context(kTicket).get(), request, &slabs).ok());

  ASSERT_EQ(slabs.slabs_size(), 1);
  EXPECT_EQ(slabs.slabs(0).id(), 5u);
  EXPECT_EQ(slabs.slabs(0).bytes(), 2u << 20);
  EXPECT_EQ(slabs.slabs(0).kind(), v1::HANDLE_KIND_IPC);
  EXPECT_EQ(slabs.slabs(0).handle(), std::string(64, 'h'));
  EXPECT_EQ(slabs.slabs(0).canary_offset(), 4096u);
  EXPECT_EQ(slabs.slabs(0).canary(), std::string(64, 't'));
}

TEST_F(ServerTest, ADatasetIsDescribedWithItsClasses) {
  v1::DescribeDatasetRequest request;
  request.set_dataset("flowers");
  v1::DescribeDatasetResponse described;

  ASSERT_TRUE(feed_->DescribeDataset(Context().get(), request, &described).ok());

  EXPECT_THAT(described.classes(), ElementsAre("daisy", "rose"));
  EXPECT_EQ(described.digest(), 9u);
  EXPECT_EQ(described.content_digest(), "");

  request.set_content_digest(true);
  ASSERT_TRUE(feed_->DescribeDataset(Context().get(), request, &described).ok());
  EXPECT_EQ(described.content_digest(), "c0ffee");
}

TEST_F(ServerTest, IndexingStreamsProgressAndEndsWithTheWholeFigure) {
  v1::IndexDatasetRequest request;
  request.set_dataset("flowers");
  const auto context = Context("");

  const auto index = admin_->IndexDataset(context.get(), request);
  v1::IndexDatasetResponse last;
  while (index->Read(&last)) {
  }

  EXPECT_TRUE(index->Finish().ok());
  EXPECT_TRUE(last.done());
  EXPECT_EQ(last.samples(), 99u);
}

TEST_F(ServerTest, ATraceOfATimeThatCannotBeIsRefused) {
  for (const uint32_t ms : {1u, 99u, 60'001u, UINT32_MAX})
    EXPECT_EQ(Trace(ms).first.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << ms;
}

TEST_F(ServerTest, ASecondTraceIsRefusedInTheControllersWords) {
  const grpc::Status refused = Trace(700).first;

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("a trace is already being taken"));
}

TEST_F(ServerTest, ATraceComesInPiecesThatFollowEachOther) {
  const auto [status, pieces] = Trace(0);

  ASSERT_TRUE(status.ok());
  ASSERT_EQ(pieces.size(), 3u);
  for (const v1::GetTraceResponse& piece : pieces) {
    EXPECT_EQ(piece.text().size(), 256u << 10);
    EXPECT_EQ(piece.dropped(), 7u);
  }
  EXPECT_EQ(pieces[0].text()[0], '3');
  EXPECT_EQ(pieces[2].text()[0], '1');
}

TEST_F(ServerTest, ATraceThatIsCancelledEndsAtOnceAndTheControllerIsTold) {
  const auto context = Context();
  v1::GetTraceRequest request;
  request.set_duration_ms(60'000);
  const auto trace = admin_->GetTrace(context.get(), request);
  ASSERT_TRUE(WaitFor([&] { return controller_.held() == 1; }));

  context->TryCancel();

  EXPECT_EQ(trace->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(WaitFor([&] { return controller_.trace_cancelled(); }));
  controller_.LetGo();
}

TEST_F(ServerTest, ItsEndDoesNotWaitForATrace) {
  const auto context = Context();
  v1::GetTraceRequest request;
  request.set_duration_ms(60'000);
  const auto trace = admin_->GetTrace(context.get(), request);
  ASSERT_TRUE(WaitFor([&] { return controller_.held() == 1; }));

  server_.reset();

  EXPECT_FALSE(trace->Finish().ok());
}

TEST_F(ServerTest, AFailedIndexEndsWithItsReason) {
  v1::IndexDatasetRequest request;
  request.set_dataset("broken");
  const auto context = Context("");

  const auto index = admin_->IndexDataset(context.get(), request);
  v1::IndexDatasetResponse progress;
  while (index->Read(&progress)) {
  }

  EXPECT_EQ(index->Finish().error_message(), "/data/broken: unreadable");
}

TEST_F(ServerTest, AnOperatorsCallsReachTheController) {
  v1::GetStatusResponse status;
  v1::ListQuarantineResponse list;
  v1::ClearQuarantineRequest clear;
  clear.set_dataset("flowers");
  v1::ClearQuarantineResponse cleared;
  v1::ListSessionsResponse sessions;
  v1::ListWorkersResponse workers;
  v1::ListDatasetsResponse datasets;

  EXPECT_TRUE(admin_->GetStatus(Context("").get(), {}, &status).ok());
  EXPECT_TRUE(admin_->ListQuarantine(Context("").get(), {}, &list).ok());
  EXPECT_TRUE(admin_->ClearQuarantine(Context("").get(), clear, &cleared).ok());
  EXPECT_TRUE(admin_->ListSessions(Context("").get(), {}, &sessions).ok());
  EXPECT_TRUE(admin_->ListWorkers(Context("").get(), {}, &workers).ok());
  EXPECT_TRUE(admin_->ListDatasets(Context("").get(), {}, &datasets).ok());

  EXPECT_EQ(status.pid(), 4711);
  EXPECT_EQ(list.entries_size(), 1);
  EXPECT_EQ(cleared.cleared(), 3u);
}

TEST_F(ServerTest, AQuarantinesPageIsAskedForInWordsThatAreChecked) {
  v1::ListQuarantineRequest request;
  request.set_page_size(9999);
  v1::ListQuarantineResponse list;
  EXPECT_TRUE(admin_->ListQuarantine(Context("").get(), request, &list).ok());
  EXPECT_EQ(list.total(), 5000u);  // the controller was asked for the largest page
  for (const char* token : {"7", "a:b", "1:", ":1", "1:2:3", "-1:2"}) {
    request.set_page_token(token);

    const grpc::Status status = admin_->ListQuarantine(Context("").get(), request, &list);

    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << token;
    EXPECT_THAT(status.error_message(), HasSubstr("page_token"));
  }
}

TEST_F(ServerTest, SamplesAreDescribedInTheOrderOfTheirIds) {
  v1::DescribeSamplesRequest request;
  request.set_dataset("flowers");
  v1::DescribeSamplesResponse response;
  EXPECT_THAT(feed_->DescribeSamples(Context().get(), request, &response).error_message(),
              HasSubstr("sample_ids: wanted 1 to 4096, got 0"));
  for (uint64_t id : {9, 4, 5}) request.add_sample_ids(id);
  EXPECT_EQ(feed_->DescribeSamples(Context("").get(), request, &response).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);

  ASSERT_TRUE(feed_->DescribeSamples(Context().get(), request, &response).ok());

  ASSERT_EQ(response.samples_size(), 3);
  EXPECT_EQ(response.samples(0).ShortDebugString(),
            R"(path: "/flowers/9" label: 1 offset: 512 bytes: 99 file: "/flowers/\377.tar")");
  EXPECT_EQ(response.samples(1).ShortDebugString(), R"(path: "/flowers/4" offset: 0 bytes: 44)");
  EXPECT_EQ(response.samples(2).ShortDebugString(), R"(path: "/flowers/5" label: 1)");
  for (int i = 0; i < 4096; ++i) request.add_sample_ids(0);
  EXPECT_EQ(feed_->DescribeSamples(Context().get(), request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, AProgressIsOfASessionOfTheCaller) {
  v1::GetProgressRequest request;
  v1::GetProgressResponse progress;
  EXPECT_THAT(feed_->GetProgress(Context().get(), request, &progress).error_message(),
              HasSubstr("session_id is missing"));
  request.set_session_id(42);
  EXPECT_EQ(feed_->GetProgress(Context("").get(), request, &progress).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);

  ASSERT_TRUE(feed_->GetProgress(Context().get(), request, &progress).ok());

  EXPECT_EQ(progress.announced(), 3u);
  EXPECT_EQ(progress.decoding(), 2u);
  EXPECT_EQ(progress.stalled_reason(), "/flowers/7: gone");
}

// An idle client checks its connection only every few seconds.
TEST_F(ServerTest, TheEndDoesNotWaitForClientsThatOnlyKeepTheirConnection) {
  Serve({.shutdown_timeout = std::chrono::seconds(30)});
  ASSERT_TRUE(Open(GoodRequest("flowers")).ok());
  const auto begin = std::chrono::steady_clock::now();

  server_.reset();

  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST_F(ServerTest, TheEndWaitsForTheAnswersOfCallsInProgress) {
  Serve({.shutdown_timeout = std::chrono::seconds(30)});
  grpc::Status answered;
  std::thread caller([&] { answered = Open(GoodRequest("slow")); });
  ASSERT_TRUE(WaitFor([&] { return controller_.held() == 1; }));
  std::thread answerer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    controller_.LetGo();
  });

  server_.reset();

  caller.join();
  answerer.join();
  EXPECT_TRUE(answered.ok()) << answered.error_message();
}

TEST_F(ServerTest, HealthFollowsWhatTheDaemonSaysForAllAndForEachService) {
  const std::string kServing("\x08\x01", 2);
  const std::string kNotServing("\x08\x02", 2);
  const std::vector<std::string> services = {"", "penstock.v1.FeedService",
                                             "penstock.v1.AdminService"};

  for (const std::string& service : services) EXPECT_EQ(Health(service), kNotServing) << service;
  server_->SetServing(true);
  for (const std::string& service : services) EXPECT_EQ(Health(service), kServing) << service;
  server_->SetServing(false);
  for (const std::string& service : services) EXPECT_EQ(Health(service), kNotServing) << service;
}

TEST_F(ServerTest, ReflectionListsTheServices) {
  // ServerReflectionRequest.list_services is field 7.
  const std::string answer = Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                  std::string("\x3a\x00", 2));

  EXPECT_THAT(answer, HasSubstr("penstock.v1.FeedService"));
  EXPECT_THAT(answer, HasSubstr("penstock.v1.AdminService"));
  EXPECT_THAT(answer, HasSubstr("grpc.health.v1.Health"));
}

}  // namespace
}  // namespace penstock::rpc
