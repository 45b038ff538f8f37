// The calls of gRPC and the doorway, with a real catalogue and a runner without workers.
#include "server/app/service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "absl/strings/str_replace.h"
#include "server/rpc/access/refusal.h"
#include "tests/support/fakes/permits.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Code = absl::StatusCode;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    for (int i = 0; i < 100; ++i)
      folder_.Write(absl::StrCat("flowers/daisy/", i, ".jpg"), "photograph");
    Engine::Options options;
    options.pool.max_bytes = 16 << 20;
    options.workers.count = 0;
    options.close_peer = [this](uint64_t peer) { closed_.push_back(peer); };
    runner_ = feed::Runner::Start(options, [this](uint64_t, const void*, size_t,
                                                  const std::vector<int>&) {
                return send_status_;
              }).value();
    service_.emplace(
        Service::Options{.private_daemon = true, .delivers_to_gpus = [] { return false; }},
        catalog_, *runner_);
    Arrive(1);
  }
  ~ServiceTest() override { catalog_.Stop(); }

  using Engine = feed::Engine;

  static rpc::Ticket TicketOf(uint8_t id) {
    rpc::Ticket ticket;
    ticket.bytes[0] = id;
    ticket.origin = {.user = 1000u + id, .pid = 100 + id};
    return ticket;
  }
  static rpc::Permit PermitOf(uint8_t id) {
    return rpc::PermitForTest::Make({.pid = 100 + id, .uid = 1000u + id}, TicketOf(id));
  }
  static rpc::Permit Operator() { return rpc::PermitForTest::Operator(); }
  void Arrive(uint8_t id) {
    doorway::Peer peer;
    peer.id = doorway::PeerId(id);
    peer.ticket = TicketOf(id);
    peer.uid = 1000u + id;
    peer.pid = 100 + id;
    service_->OnArrived(peer);
  }

  template <typename T>
  struct Answer {
    std::promise<absl::StatusOr<T>> promise;
    rpc::Callback<T> Callback() {
      return [this](absl::StatusOr<T> answer) { promise.set_value(std::move(answer)); };
    }
    absl::StatusOr<T> Get() { return promise.get_future().get(); }
  };

  session::Request Request() const {
    session::Request request;
    request.dataset_name = folder_.At("flowers");
    request.share.batch_size = 8;
    request.feed.decoding.height = request.feed.decoding.width = 16;
    return request;
  }
  absl::StatusOr<session::Grant> Open(const session::Request& request, uint8_t peer = 1) {
    Answer<session::Grant> answer;
    service_->OpenSession(
        PermitOf(peer), request, [] { return false; }, answer.Callback());
    return answer.Get();
  }
  absl::Status Close(uint8_t peer, uint64_t session) {
    Answer<bool> answer;
    service_->CloseSession(PermitOf(peer), session, answer.Callback());
    return answer.Get().status();
  }
  v1::GetStatusResponse Status() {
    Answer<v1::GetStatusResponse> answer;
    service_->GetStatus(Operator(), answer.Callback());
    return answer.Get().value();
  }

  testing::TempFolder folder_;
  absl::Status send_status_;
  std::vector<uint64_t> closed_;  // peers, by the runner
  Catalog catalog_{{.any_path = true, .state_dir = folder_.At("state")}};
  std::unique_ptr<feed::Runner> runner_;
  std::optional<Service> service_;
};

TEST_F(ServiceTest, WithoutATicketNothingIsDone) {
  EXPECT_EQ(Open(Request(), 9).status().code(), Code::kUnauthenticated);
  EXPECT_EQ(Close(9, 1).code(), Code::kUnauthenticated);
  Answer<rpc::DatasetDescription> described;
  service_->DescribeDataset(PermitOf(9), {.dataset = folder_.At("flowers")}, described.Callback());
  EXPECT_EQ(described.Get().status().code(), Code::kUnauthenticated);
}

TEST_F(ServiceTest, ATicketEndsWithItsConnection) {
  EXPECT_EQ(service_->connected(), 1u);

  service_->OnDisconnected(doorway::PeerId(1));

  EXPECT_EQ(Open(Request()).status().code(), Code::kUnauthenticated);
  EXPECT_EQ(service_->connected(), 0u);
}

TEST_F(ServiceTest, MakersEnterAPrivateDaemonAloneAndAreNoClients) {
  const auto process = std::make_shared<const posix::Fd>(posix::MakeEvent().value());
  const doorway::Peer host{
      .id = doorway::PeerId(2), .role = doorway::Role::kHost, .process = process, .uid = 1000};
  const doorway::Peer worker{
      .id = doorway::PeerId(3), .role = doorway::Role::kWorker, .process = process, .uid = 1000};
  Service of_system(Service::Options{}, catalog_, *runner_);

  for (const doorway::Peer& maker : {host, worker}) {
    EXPECT_TRUE(service_->MayEnter(maker).ok());
    EXPECT_EQ(of_system.MayEnter(maker).code(), Code::kFailedPrecondition);
    service_->OnArrived(maker);
  }

  EXPECT_EQ(service_->connected(), 1u);
  Status();                                 // answered by the runner, after it heard of them
  EXPECT_THAT(closed_, ElementsAre(2, 3));  // no session's trainer has their token
  rpc::Ticket zeros;
  zeros.origin = {.user = 1000, .pid = 0};
  Answer<bool> answer;
  service_->CloseSession(rpc::PermitForTest::Make({.pid = 0, .uid = 1000}, zeros), 1,
                         answer.Callback());
  EXPECT_EQ(answer.Get().status().code(), Code::kUnauthenticated);
}

TEST_F(ServiceTest, WhatNeedsNoDecodingIsNotDecodedAndPhotographsAreNotHandedOutAsTheyAreStored) {
  session::Request photographs = Request();
  photographs.decoding_mode = session::DecodingMode::kNone;
  session::Request noise = Request();
  noise.dataset_name = "synthetic:8x9x3";

  const absl::Status not_decoded = Open(photographs).status();
  const absl::Status decoded = Open(noise).status();

  EXPECT_EQ(not_decoded.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(not_decoded.message()), HasSubstr("set a crop"));
  EXPECT_EQ(decoded.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(decoded.message()), HasSubstr("need no decoding"));
}

TEST_F(ServiceTest, ADecodingByDefaultIsForPhotographsAlone) {
  session::Request noise = Request();
  noise.decoding_mode = session::DecodingMode::kIfEncoded;
  noise.dataset_name = "synthetic:8x9x3,seed=5";
  // Works without a GPU, because nothing is copied to it.
  noise.delivery = session::Delivery::kDevice;
  noise.device.emplace();

  const auto grant = Open(noise);

  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->row.image()->shape[0], 8u);
  EXPECT_EQ(grant->row.image()->shape[1], 9u);
  EXPECT_EQ(grant->layout.blocks.at(0).row_bytes, 0u);
  EXPECT_EQ(grant->synthetic_seed, 5u);
  EXPECT_EQ(grant->delivery, session::Delivery::kHost);
  session::Request photographs = Request();
  photographs.decoding_mode = session::DecodingMode::kIfEncoded;
  EXPECT_EQ(Open(photographs)->layout.blocks.at(0).row_bytes, 16u * 16 * 3);
}

TEST_F(ServiceTest, TheCataloguesRefusalIsTheAnswer) {
  session::Request request = Request();
  request.dataset_name = folder_.At("nothing");

  EXPECT_EQ(Open(request).status().code(), Code::kNotFound);
}

TEST_F(ServiceTest, TheEnginesRefusalIsTheAnswer) {
  session::Request request = Request();
  request.expected_fingerprint = 1;

  EXPECT_EQ(Open(request).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Status().sessions(), 0u);
}

TEST_F(ServiceTest, AnOpenThatCannotBeToldOfIsUndone) {
  send_status_ = absl::UnavailableError("gone");

  EXPECT_EQ(Open(Request()).status().code(), Code::kUnavailable);

  EXPECT_EQ(Status().sessions(), 0u);
  EXPECT_EQ(Status().pool().reserved_bytes(), 0u);
}

TEST_F(ServiceTest, AGrantSaysHowItsBatchesLie) {
  const session::Grant grant = Open(Request()).value();

  EXPECT_EQ(grant.samples, 100u);
  EXPECT_EQ(grant.classes, 1u);
  EXPECT_EQ(grant.layout.blocks.at(0).row_bytes, 3u * 16 * 16);
  EXPECT_EQ(grant.layout.labels_offset, 8u * 3 * 16 * 16);
  EXPECT_EQ(grant.layout.slot_bytes % 4096, 0u);
  EXPECT_EQ(grant.epoch_batches, 13u);
  EXPECT_EQ(grant.window, 4u);
  EXPECT_NE(grant.fingerprint, 0u);
}

TEST_F(ServiceTest, WhoAsksIsWhoTheDoorwaySaysItIs) {
  Arrive(2);
  const uint64_t session = Open(Request(), 2)->session;

  Answer<v1::ListSessionsResponse> list;
  service_->ListSessions(Operator(), list.Callback());

  const v1::ListSessionsResponse sessions = list.Get().value();
  ASSERT_EQ(sessions.sessions_size(), 1);
  EXPECT_EQ(sessions.sessions(0).user_id(), 1002u);
  EXPECT_EQ(sessions.sessions(0).pid(), 102);
  EXPECT_EQ(Close(1, session).code(), Code::kNotFound);
  EXPECT_TRUE(Close(2, session).ok());
  EXPECT_TRUE(Close(2, session).ok());
  EXPECT_EQ(Status().sessions(), 0u);
}

TEST_F(ServiceTest, WhatAProcessHeldIsFreeWhenItIsGoneAndNotBefore) {
  ASSERT_TRUE(Open(Request()).ok());

  service_->OnDisconnected(doorway::PeerId(1));
  EXPECT_EQ(Status().sessions(), 1u);
  service_->OnGone(doorway::PeerId(1));

  EXPECT_EQ(Status().sessions(), 0u);
  EXPECT_EQ(Status().pool().reserved_bytes(), 0u);
}

TEST_F(ServiceTest, ADatasetIsDescribedWithItsClasses) {
  Answer<rpc::DatasetDescription> answer;
  service_->DescribeDataset(PermitOf(1), {.dataset = folder_.At("flowers")}, answer.Callback());

  const rpc::DatasetDescription description = answer.Get().value();

  EXPECT_EQ(description.samples, 100u);
  EXPECT_THAT(description.classes, ::testing::ElementsAre("daisy"));
}

TEST_F(ServiceTest, BadSamplesAreListedCountedAndCleared) {
  ASSERT_TRUE(Open(Request()).ok());
  const Catalog::State state = catalog_.List().at(0).state;
  std::promise<void> added;
  runner_->Post([&](Engine&, base::TimePoint) {
    state->quarantine.Add({.sample = 3, .path = "three", .fault = base::Fault::kTimeout});
    state->quarantine.Add({.sample = 4, .path = "four", .fault = base::Fault::kEmpty});
    added.set_value();
  });
  added.get_future().wait();
  EXPECT_EQ(Status().quarantined(), 2u);

  Answer<v1::ListQuarantineResponse> listed;
  service_->ListQuarantine(Operator(), {.dataset = "", .page_size = 10}, listed.Callback());
  EXPECT_EQ(listed.Get()->entries_size(), 2);
  Answer<v1::ClearQuarantineResponse> cleared;
  service_->ClearQuarantine(Operator(), folder_.At("flowers"), cleared.Callback());
  EXPECT_EQ(cleared.Get()->cleared(), 2u);

  EXPECT_EQ(Status().quarantined(), 0u);
}

TEST_F(ServiceTest, WhatATrainersGpuCannotDecodeIsListedAsWorkForWorkers) {
  session::Request request = Request();
  request.feed.decoding.undecoded = {.place_bytes = 1024, .share = 1, .decoder = 1};
  const uint64_t session = Open(request)->session, pixels = Open(Request())->session;
  const auto report = [this](uint64_t id, uint8_t peer) {
    Answer<bool> answer;
    service_->ReportUndecodable(PermitOf(peer), id, {2}, answer.Callback());
    return answer.Get().status();
  };

  EXPECT_TRUE(report(session, 1).ok());
  EXPECT_EQ(report(pixels, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(report(session, 9).code(), Code::kUnauthenticated);

  Answer<v1::ListQuarantineResponse> listed;
  service_->ListQuarantine(Operator(), {.dataset = "", .page_size = 10}, listed.Callback());
  const v1::ListQuarantineResponse list = listed.Get().value();
  ASSERT_EQ(list.entries_size(), 1);
  EXPECT_EQ(list.entries(0).sample(), 2u);
  EXPECT_EQ(list.entries(0).reason(), "the GPU's decoder failed on it");
  EXPECT_TRUE(list.entries(0).decoded_by_workers());
  EXPECT_FALSE(list.entries(0).quarantined());
}

// ---- Several users. ----

// Session numbers can be guessed, so callers must not learn whether another's session exists.
TEST_F(ServiceTest, AnothersSessionIsSpokenOfAsOneThatIsNotThere) {
  Arrive(2);
  const uint64_t session = Open(Request())->session;
  const auto ask = [this](uint8_t peer, uint64_t id) {
    Answer<rpc::Progress> progress;
    Answer<std::vector<exporting::SlabFacts>> slabs;
    service_->GetProgress(PermitOf(peer), id, progress.Callback());
    Answer<bool> report;
    service_->ListSlabs(PermitOf(peer), id, slabs.Callback());
    service_->ReportUndecodable(PermitOf(peer), id, {0}, report.Callback());
    return std::vector<absl::Status>{progress.Get().status(), slabs.Get().status(),
                                     report.Get().status()};
  };

  const std::vector<absl::Status> theirs = ask(2, session), nobodys = ask(2, session + 100);

  for (size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_EQ(theirs[i].code(), Code::kNotFound);
    EXPECT_EQ(theirs[i].code(), nobodys[i].code());
    EXPECT_EQ(absl::StrReplaceAll(theirs[i].message(), {{absl::StrCat(session), "N"}}),
              absl::StrReplaceAll(nobodys[i].message(), {{absl::StrCat(session + 100), "N"}}));
    EXPECT_EQ(theirs[i].GetPayload(rpc::kRefusalUrl), absl::Cord("not_owner"));
    EXPECT_FALSE(nobodys[i].GetPayload(rpc::kRefusalUrl).has_value());
  }
  // The caller gets the same answer as for a session that doesn't exist. The refusal is only
  // logged.
  EXPECT_EQ(Close(2, session).GetPayload(rpc::kRefusalUrl), absl::Cord("not_owner"));
  EXPECT_EQ(Close(2, session).code(), Code::kNotFound);
  EXPECT_TRUE(Close(2, session + 100).ok());
  EXPECT_EQ(Status().sessions(), 1u);
}

// An open dataset is shared but its name isn't, because that may be another user's secret.
TEST_F(ServiceTest, EachUserSeesTheNameThatItUsedItself) {
  Arrive(2);
  std::filesystem::create_symlink(folder_.At("flowers"), folder_.At("anns-secret"));
  session::Request first = Request(), second = Request();
  first.dataset_name = folder_.At("anns-secret");
  ASSERT_TRUE(Open(first).ok());

  Answer<rpc::DatasetDescription> described;
  service_->DescribeDataset(PermitOf(2), {.dataset = folder_.At("flowers")}, described.Callback());
  EXPECT_EQ(described.Get()->name, folder_.At("flowers"));
  ASSERT_TRUE(Open(second, 2).ok());

  Answer<v1::ListSessionsResponse> sessions;
  service_->ListSessions(PermitOf(2), sessions.Callback());
  const v1::ListSessionsResponse listed = sessions.Get().value();
  ASSERT_EQ(listed.sessions_size(), 1);
  EXPECT_EQ(listed.sessions(0).dataset(), folder_.At("flowers"));
  Answer<v1::GetStatusResponse> status;
  service_->GetStatus(PermitOf(2), status.Callback());
  EXPECT_EQ(status.Get()->feeds(0).dataset(), folder_.At("flowers"));
  // Refusals also name the dataset as the caller did.
  second.decoding_mode = session::DecodingMode::kNone;
  EXPECT_THAT(std::string(Open(second, 2).status().message()), Not(HasSubstr("anns-secret")));
  Answer<std::vector<rpc::SampleDescription>> samples;
  service_->DescribeSamples(
      PermitOf(2), folder_.At("flowers"), {1000}, [] { return false; }, samples.Callback());
  EXPECT_THAT(std::string(samples.Get().status().message()), Not(HasSubstr("anns-secret")));
}

TEST_F(ServiceTest, WhatTheRunnerCannotTakeIsRefusedAtOnce) {
  // Shared with the runner, which may outlive the test.
  const auto begun = std::make_shared<std::promise<void>>();
  std::promise<void> go_on;
  const std::shared_future<void> going = go_on.get_future().share();
  runner_->Post([begun, going](Engine&, base::TimePoint) {
    begun->set_value();
    going.wait();
  });
  begun->get_future().wait();
  while (runner_->Post([](Engine&, base::TimePoint) {})) {
  }

  EXPECT_EQ(Close(1, 1).code(), Code::kUnavailable);

  go_on.set_value();
}

TEST_F(ServiceTest, AfterTheRunnersEndCallsAreAnsweredAllTheSame) {
  runner_->Close();

  EXPECT_EQ(Close(1, 1).code(), Code::kUnavailable);
  EXPECT_EQ(Open(Request()).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace penstock::app
