// Sessions over Python datasets, as their trainers and operators see them. Nothing makes batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/app/operator/metrics_snapshot.h"
#include "server/app/service/service.h"
#include "tests/support/fakes/permits.h"

namespace penstock::app {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr char kName[] = "python:id=ab,samples=100";

class ServicePythonTest : public ::testing::Test {
 protected:
  ServicePythonTest() {
    feed::Engine::Options options;
    options.pool.max_bytes = 16 << 20;
    options.workers.count = 0;
    runner_ =
        feed::Runner::Start(options, [](uint64_t, const void*, size_t, const std::vector<int>&) {
          return absl::OkStatus();
        }).value();
    service_.emplace(Service::Options{.private_daemon = true}, catalog_, *runner_);
    for (const uint8_t trainer : {1, 2})
      service_->OnArrived({.id = doorway::PeerId(trainer),
                           .ticket = TicketOf(trainer),
                           .pid = 100 + trainer,
                           .uid = 1000});
  }
  ~ServicePythonTest() override { catalog_.Stop(); }

  static rpc::Ticket TicketOf(uint8_t trainer) {
    rpc::Ticket ticket;
    ticket.bytes[0] = trainer;
    ticket.origin = {.user = 1000, .pid = 100 + trainer};
    return ticket;
  }
  static rpc::Permit PermitOf(uint8_t trainer) {
    return rpc::PermitForTest::Make({.pid = 100 + trainer, .uid = 1000}, TicketOf(trainer));
  }

  // Makes the call with a callback, and returns its answer.
  template <typename T>
  static absl::StatusOr<T> Call(const std::function<void(rpc::Callback<T>)>& call) {
    std::promise<absl::StatusOr<T>> answer;
    call([&](absl::StatusOr<T> value) { answer.set_value(std::move(value)); });
    return answer.get_future().get();
  }
  static session::Request Request() {
    session::Request request;
    request.dataset_name = kName;
    request.share.batch_size = 8;
    request.decoding_mode = session::DecodingMode::kNone;
    request.feed.python = session::PythonFeed{.digest = 7};
    request.python_workers.count = 3;
    return request;
  }
  absl::StatusOr<session::Grant> Open(const session::Request& request, uint8_t trainer = 1) {
    return Call<session::Grant>([&](auto done) {
      service_->OpenSession(
          PermitOf(trainer), request, [] { return false; }, done);
    });
  }
  v1::GetStatusResponse Status() {
    return Call<v1::GetStatusResponse>(
               [&](auto done) { service_->GetStatus(rpc::PermitForTest::Operator(), done); })
        .value();
  }

  Catalog catalog_{{.any_path = true, .state_dir = ""}};
  std::unique_ptr<feed::Runner> runner_;
  std::optional<Service> service_;
};

TEST_F(ServicePythonTest, ASessionIsGrantedASparseSlotAndATokenForAHost) {
  const session::Grant grant = Open(Request()).value();

  ASSERT_TRUE(grant.host.has_value());
  EXPECT_NE(grant.host->token, (session::HostGrant{}.token));
  EXPECT_EQ(grant.host->max_batch_bytes, uint64_t{1} << 30);
  EXPECT_TRUE(grant.layout.sparse());
  EXPECT_TRUE(grant.row.tensors.empty());
  EXPECT_FALSE(grant.labeled);
  EXPECT_EQ(grant.epoch_batches, 13u);
  EXPECT_EQ(grant.files, 0u);
}

TEST_F(ServicePythonTest, TrainersOfOneIdAndOneFeedShareIt) {
  session::Request other = Request();
  other.feed.seed = 1;
  const session::Grant first = Open(Request()).value();
  const session::Grant second = Open(Request(), 2).value();

  EXPECT_EQ(Status().feeds_size(), 1);
  EXPECT_EQ(Status().feeds(0).sessions(), 2u);
  EXPECT_EQ(first.fingerprint, second.fingerprint);
  EXPECT_NE(first.host->token, second.host->token);
  ASSERT_TRUE(Open(other, 2).ok());
  EXPECT_EQ(Status().feeds_size(), 2);
}

TEST_F(ServicePythonTest, OperatorsSeeTheSessionAndTheDataset) {
  const uint64_t id = Open(Request()).value().session;
  const rpc::Permit permit = rpc::PermitForTest::Operator();

  const auto sessions =
      Call<v1::ListSessionsResponse>([&](auto done) { service_->ListSessions(permit, done); });
  const auto workers =
      Call<v1::ListWorkersResponse>([&](auto done) { service_->ListWorkers(permit, done); });
  const auto datasets =
      Call<v1::ListDatasetsResponse>([&](auto done) { service_->ListDatasets(permit, done); });

  ASSERT_EQ(sessions->sessions_size(), 1);
  EXPECT_EQ(sessions->sessions(0).session_id(), id);
  EXPECT_EQ(sessions->sessions(0).dataset(), kName);
  EXPECT_EQ(sessions->sessions(0).state(),
            "waiting for the host of the dataset to be forked by its trainer");
  EXPECT_EQ(workers->workers_size(), 0);
  ASSERT_EQ(datasets->datasets_size(), 1);
  EXPECT_EQ(datasets->datasets(0).name(), kName);
  EXPECT_EQ(datasets->datasets(0).kind(), "python");
  EXPECT_EQ(datasets->datasets(0).samples(), 100u);
}

TEST_F(ServicePythonTest, ItsTrainerSeesItsWorkersAndSamples) {
  const uint64_t id = Open(Request()).value().session;

  const auto progress =
      Call<rpc::Progress>([&](auto done) { service_->GetProgress(PermitOf(1), id, done); });
  const auto description = Call<rpc::DatasetDescription>(
      [&](auto done) { service_->DescribeDataset(PermitOf(1), {.dataset = kName}, done); });
  const auto samples = Call<std::vector<rpc::SampleDescription>>([&](auto done) {
    service_->DescribeSamples(
        PermitOf(1), kName, {99}, [] { return false; }, done);
  });

  EXPECT_EQ(progress->workers, 3u);
  EXPECT_EQ(description->kind, "python");
  EXPECT_FALSE(description->decoded);
  EXPECT_FALSE(description->row_shape.has_value());
  EXPECT_EQ(samples->at(0).path, "dataset[99] of Python dataset ab");
}

TEST_F(ServicePythonTest, MetricsCanBeTaken) {
  ASSERT_TRUE(Open(Request()).ok());
  std::promise<status::Snapshot> snapshot;

  runner_->Deliver([&](feed::Engine& engine, base::TimePoint now) {
    snapshot.set_value(TakeSnapshot(engine, catalog_.List(), now));
  });

  uint64_t sessions = 0;
  for (const auto& of_delivery : snapshot.get_future().get().sessions)
    for (const auto in_state : of_delivery) sessions += in_state;
  EXPECT_EQ(sessions, 1u);
}

TEST_F(ServicePythonTest, WhatIsNotAPythonFeedIsRefused) {
  session::Request without = Request(), to_gpu = Request();
  without.feed.python.reset();
  to_gpu.delivery = session::Delivery::kDevice;
  to_gpu.device = exporting::DeviceRequest{};

  EXPECT_THAT(Open(without).status().ToString(), HasSubstr("feed.python is missing"));
  EXPECT_THAT(Open(to_gpu).status().ToString(), HasSubstr("request pinned delivery"));
}

TEST_F(ServicePythonTest, AClosedSessionLeavesNothing) {
  const uint64_t id = Open(Request()).value().session;

  const auto closed = Call<bool>([&](auto done) { service_->CloseSession(PermitOf(1), id, done); });

  EXPECT_TRUE(closed.ok());
  EXPECT_EQ(Status().sessions(), 0u);
  EXPECT_EQ(Status().pool().reserved_bytes(), 0u);
}

}  // namespace
}  // namespace penstock::app
