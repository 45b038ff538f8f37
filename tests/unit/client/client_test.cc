// The public classes, with a doorway and services implemented by the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "client/src/connection/connection.h"
#include "tests/support/files/temp_folder.h"
#include "tests/unit/client/fake_services.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr milliseconds kNow{0};
constexpr std::chrono::seconds kLong{20};

class ClientTest : public ::testing::Test {
 protected:
  Result<Client> Connect() { return Client::Connect({.address = address_, .name = "a-test"}); }

  testing::TempFolder folder_;
  const std::string address_ = folder_.At("penstock.sock");
  FakeDaemon daemon_;
};

// The number of mappings in this process whose file name contains `name`.
size_t MappingsOf(const std::string& name) {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find(name) != std::string::npos;
  return count;
}

const SessionOptions kBirds = {.dataset = "birds", .batch_size = 4};

TEST_F(ClientTest, WhereNobodyListensTheAddressIsNamed) {
  const Status status = Connect().status();

  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(address_));
}

TEST_F(ClientTest, ARefusalAtTheDoorwayIsSaidInTheDaemonsWords) {
  FakeServices services(address_, daemon_, {.refusal = "1024 clients are in already"});

  const Status status = Connect().status();

  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("1024 clients are in already"));
}

TEST_F(ClientTest, ADaemonOfAnotherProtocolIsRefusedWithBothVersions) {
  FakeServices services(address_, daemon_, {.protocol_version = 2, .refusal = ""});

  const Status status = Connect().status();

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("(version 9.8.7): the daemon speaks protocol version 2, this client "
                        "version 1; upgrade the client library"));
}

TEST_F(ClientTest, ANewerDaemonThatStillServesThisProtocolIsTaken) {
  FakeServices services(address_, daemon_, {.protocol_version = 2, .oldest_protocol_version = 1});

  EXPECT_TRUE(Connect().ok());
}

TEST_F(ClientTest, AnUnknownDatasetIsSaidInTheDaemonsWords) {
  FakeServices services(address_, daemon_);
  Client client = Connect().OrDie();

  const Status status = client.Describe("fish").status();

  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "no dataset 'fish'; there is: birds");
}

TEST_F(ClientTest, AnOpenThatDoesNotFitIsRefusedInTheDaemonsWords) {
  const grpc::Status full(grpc::StatusCode::RESOURCE_EXHAUSTED, "wanted 4 GiB, 1 GiB is left");
  FakeServices services(address_, daemon_, {.refusal = "", .open = full});
  Client client = Connect().OrDie();

  const Status status = client.Open(kBirds).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "wanted 4 GiB, 1 GiB is left");
}

TEST_F(ClientTest, ASessionWhoseDescriptorsDoNotComeIsClosedAgain) {
  FakeServices services(address_, daemon_, {.refusal = "", .send_descriptors = false});
  Client client = Connect().OrDie();
  SessionOptions options = kBirds;
  options.open_timeout = milliseconds(200);

  EXPECT_EQ(client.Open(options).status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(services.closed, 1);
}

TEST_F(ClientTest, ADatasetIsDescribed) {
  FakeServices services(address_, daemon_);
  Client client = Connect().OrDie();

  const DatasetInfo info = client.Describe("birds").OrDie();

  EXPECT_EQ(info.samples, 100u);
  EXPECT_THAT(info.classes, ::testing::ElementsAre("crow"));
}

TEST_F(ClientTest, ASessionDeliversAndShowsItsTicketAndName) {
  FakeServices services(address_, daemon_);
  daemon_.AnnounceNext();
  Client client = Connect().OrDie();
  Session session = client.Open(kBirds).OrDie();

  const Result<Batch> batch = session.Next(kLong);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(batch->images(), Each(1));
  EXPECT_EQ(session.shape().rows, 4u);
  EXPECT_EQ(*session.Quarantined(), 2u);
  EXPECT_EQ(services.ticket, "00112233445566778899aabbccddeeff");
  EXPECT_THAT(services.client, StartsWith("a-test/"));
}

TEST_F(ClientTest, WhatAGpuCannotDecodeIsReportedWithItsSession) {
  FakeServices services(address_, daemon_);
  const auto connection = Connection::Connect(address_, "a-test", {}).value();

  EXPECT_TRUE(connection->ReportUndecodable(42, std::vector<uint64_t>{7, 5}, kLong).ok());

  ASSERT_EQ(services.reported.size(), 1u);
  EXPECT_EQ(services.reported[0].session_id(), 42u);
  EXPECT_THAT(services.reported[0].samples(), ::testing::ElementsAre(7, 5));
}

TEST_F(ClientTest, ASegmentThatTheDaemonGivesUpIsUnmapped) {
  FakeServices services(address_, daemon_);
  daemon_.AnnounceNext();
  Session session = Connect().OrDie().Open(kBirds).OrDie();
  ASSERT_TRUE(session.Next(kLong).ok());
  const size_t mapped = MappingsOf("memfd:segment");

  services.GiveSegmentUp();
  ASSERT_EQ(session.Next(milliseconds(1)).status().code(), Code::kDeadlineExceeded);

  EXPECT_EQ(MappingsOf("memfd:segment"), mapped - 1);
}

TEST_F(ClientTest, ASessionOutlivesItsClientAndClosesWhenItEnds) {
  FakeServices services(address_, daemon_);
  daemon_.AnnounceNext();
  {
    Session session = Connect().OrDie().Open(kBirds).OrDie();
    EXPECT_TRUE(session.Next(kLong).ok());
    EXPECT_EQ(services.closed, 0);
  }

  EXPECT_EQ(services.closed, 1);
}

TEST_F(ClientTest, ADaemonThatComesBackIsAskedForTheSamePosition) {
  auto services = std::make_unique<FakeServices>(address_, daemon_);
  daemon_.AnnounceNext();
  Client client = Connect().OrDie();
  Session session = client.Open(kBirds).OrDie();
  const Result<Batch> held = session.Next(kLong);
  services = nullptr;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(session.Next(kLong).status().code(), Code::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(session.Next(milliseconds(60)).status().code(), Code::kUnavailable);
  FakeDaemon second;
  services = std::make_unique<FakeServices>(address_, second);
  second.Announce([&] {
    shm::ControlEntry entry = second.Entry(1);
    entry.first = 4;
    entry.consumed = 8;
    return entry;
  }());

  const Result<Batch> next = session.Next(kLong);

  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_EQ(services->opened.at(0).state().consumed(), 4u);
  EXPECT_EQ(services->opened.at(0).state().fingerprint(), 0xFEEDu);
  EXPECT_EQ(next->step(), 1u);
  EXPECT_EQ(session.state().consumed, 8u);
  EXPECT_THAT(held->images(), Each(1));
}

TEST_F(ClientTest, AForkedChildIsToldSoAndItsEndTouchesNothing) {
  FakeServices services(address_, daemon_);
  daemon_.AnnounceNext();
  auto client = std::make_unique<Client>(Connect().OrDie());
  auto session = std::make_unique<Session>(client->Open(kBirds).OrDie());
  const pid_t child = ::fork();
  if (child == 0) {
    const bool told = client->Open(kBirds).status().code() == Code::kFailedPrecondition &&
                      client->Describe("birds").status().code() == Code::kFailedPrecondition &&
                      session->Next(kNow).status().code() == Code::kFailedPrecondition &&
                      Connect().status().code() == Code::kFailedPrecondition;
    session = nullptr;
    client = nullptr;
    ::_exit(told ? 0 : 1);
  }

  int status = -1;
  ::waitpid(child, &status, 0);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(services.closed, 0);
  EXPECT_TRUE(session->Next(kLong).ok());
}

// ---- Given orders. ----

SessionOptions Given(std::vector<uint64_t> samples) {
  SessionOptions options = kBirds;
  options.order = Order::kGiven;
  options.given = std::make_shared<const std::vector<uint64_t>>(std::move(samples));
  return options;
}

TEST_F(ClientTest, AnOrderThatIsNotGivenOrNotMeantIsRefusedBeforeAnythingIsSent) {
  FakeServices services(address_, daemon_);
  SessionOptions missing = kBirds, unmeant = Given({1, 2});
  missing.order = Order::kGiven;
  unmeant.order = Order::kSequential;

  for (const auto& [options, words] :
       {std::pair(missing, "is not set"), std::pair(Given({}), "has no samples"),
        std::pair(unmeant, "is not kGiven")}) {
    const Status status = Connect()->Open(options).status();

    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
  EXPECT_TRUE(services.orders.empty());
  EXPECT_TRUE(services.opened.empty());
}

TEST_F(ClientTest, AnOrderThatTheDaemonRefusesIsRefusedInItsWords) {
  FakeServices services(address_, daemon_,
                        {.send_order = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                                        "longer than limits.max_order_samples"}});

  const Status status = Connect()->Open(Given({1, 2})).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "longer than limits.max_order_samples");
  EXPECT_TRUE(services.opened.empty());
}

TEST_F(ClientTest, AGivenOrderIsSentInPartsBeforeTheSessionIsOpenedByItsName) {
  FakeServices services(address_, daemon_);
  std::vector<uint64_t> samples(200'000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = i * 7 % 100;

  const Result<Session> session = Connect()->Open(Given(samples));

  ASSERT_TRUE(session.ok()) << session.status().ToString();
  ASSERT_EQ(services.orders.size(), 1u);
  EXPECT_TRUE(services.orders[0] == samples);
  EXPECT_EQ(services.opened.at(0).feed().order(), v1::ORDER_GIVEN);
  EXPECT_EQ(services.opened.at(0).feed().given_order(), 101u);
}

TEST_F(ClientTest, ADaemonThatComesBackIsSentTheOrderAgain) {
  auto services = std::make_unique<FakeServices>(address_, daemon_);
  Client client = Connect().OrDie();
  Session session = client.Open(Given({2, 1, 2})).OrDie();
  services = nullptr;
  EXPECT_EQ(session.Next(kLong).status().code(), Code::kUnavailable);
  FakeDaemon second;
  second.AnnounceNext();
  services = std::make_unique<FakeServices>(address_, second);

  ASSERT_TRUE(session.Next(kLong).ok());

  EXPECT_THAT(services->orders, ::testing::ElementsAre(std::vector<uint64_t>{2, 1, 2}));
  EXPECT_EQ(services->opened.at(0).feed().given_order(), 101u);
}

// ---- Samples. ----

TEST_F(ClientTest, SamplesAreDescribedByTheirIdsHoweverMany) {
  FakeServices services(address_, daemon_);
  Client client = Connect().OrDie();
  std::vector<uint64_t> ids(5000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = 9999 - i;

  const Result<std::vector<SampleInfo>> samples = client.Samples("birds", ids);

  ASSERT_TRUE(samples.ok()) << samples.status().ToString();
  EXPECT_THAT(services.described, ::testing::ElementsAre(4096, 904));
  ASSERT_EQ(samples->size(), 5000u);
  EXPECT_EQ(samples->at(4999).path, "/birds/5000");
  EXPECT_EQ(samples->at(4999).label, 5000 % 7);
  ASSERT_TRUE(samples->at(4999).extent.has_value());
  EXPECT_EQ(samples->at(4999).extent->file, "/birds.tar");
  EXPECT_EQ(samples->at(4999).extent->offset, 512u);
  EXPECT_FALSE(samples->at(4998).extent.has_value());
  ASSERT_TRUE(samples->at(4997).extent.has_value());
  EXPECT_EQ(samples->at(4997).extent->file, "/birds/5002") << "the path is the file's";
  EXPECT_EQ(samples->at(4997).extent->bytes, 5002u);
  EXPECT_TRUE(client.Samples("birds", {})->empty());
  const uint64_t wrong[] = {10'000};
  EXPECT_EQ(client.Samples("birds", wrong).status().code(), Code::kInvalidArgument);
}

TEST_F(ClientTest, OptionsThatContradictEachOtherOpenNothing) {
  FakeServices services(address_, daemon_);
  SessionOptions options = kBirds;
  options.delivery = Delivery::kDevice;

  const Status status = Connect()->Open(options).status();

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'auto'"));
  EXPECT_TRUE(services.opened.empty());
}

TEST_F(ClientTest, AutoTakesHostMemoryWhereTheDaemonGivesNothingElseAndSaysWhy) {
  FakeServices services(address_, daemon_);
  SessionOptions options = kBirds;
  options.device = "auto";

  const Result<Session> session = Connect()->Open(options);

  ASSERT_TRUE(session.ok()) << session.status().ToString();
  EXPECT_EQ(session->delivery(), Delivery::kHost);
  EXPECT_EQ(session->device(), -1);
  EXPECT_FALSE(session->delivery_reason().empty());
  EXPECT_EQ(services.opened.back().delivery(), v1::DELIVERY_HOST);
  EXPECT_EQ(services.opened.back().delivery_reason(), session->delivery_reason());
}

}  // namespace
}  // namespace penstock::client
