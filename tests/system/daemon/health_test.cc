// Tests health checks over TCP: what they say, and that the port serves nothing else.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>

#include "penstock/v1/admin.grpc.pb.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/health_probe.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kImages = 64;
constexpr uint32_t kBatch = 8;  // eight batches per epoch

std::string Config(const std::string& server, const std::string& rest = "") {
  return "server: {socket: SOCKET, group: '', state_dir: ''" + server + "}\n" +
         "datasets: [{name: photographs, folder: " + Photographs(kImages) + "}]\n" + rest;
}

Session OpenOn(DaemonProcess& daemon, uint32_t window = 2) {
  SessionOptions options = SmallRows("photographs", kBatch);
  options.window = window;
  options.epochs = 0;
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  return client.Open(options).OrDie();
}

// How a call of reflection ends.
grpc::StatusCode ReflectionAt(int port) {
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(5));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(&tag);
  queue.Next(&tag, &ok);
  call->WritesDone(&tag);
  queue.Next(&tag, &ok);
  grpc::Status status;
  call->Finish(&status, &tag);
  queue.Next(&tag, &ok);
  return status.error_code();
}

TEST(HealthTest, APortServesHealthAloneAndFollowsADrain) {
  const int port = FreePort();
  DaemonProcess daemon(
      {.workers = 1,
       .config = Config(", health_address: '127.0.0.1:" + std::to_string(port) + "'")});
  Session session = OpenOn(daemon);

  EXPECT_TRUE(daemon.Eventually([&] { return HealthAt(port) == "SERVING"; }));
  for (const char* service : {"penstock.v1.FeedService", "penstock.v1.AdminService"})
    EXPECT_EQ(HealthAt(port, service), "SERVING") << service;
  EXPECT_EQ(ReflectionAt(port), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(daemon.Ctl({"drain", "--deadline", "1s"}).exit_code, 1);
  EXPECT_TRUE(daemon.Eventually([&] { return HealthAt(port) == "NOT_SERVING"; }));
  for (const char* service : {"penstock.v1.FeedService", "penstock.v1.AdminService"})
    EXPECT_EQ(HealthAt(port, service), "NOT_SERVING") << service;
  EXPECT_NE(HealthAt(port, "penstock.v1.Nothing"), "NOT_SERVING");

  const auto stub = v1::AdminService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(5));
  v1::GetStatusResponse response;
  EXPECT_EQ(stub->GetStatus(&context, {}, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(HealthTest, ADaemonThroughWhichNoBatchComesIsNotServingAndSaysWhy) {
  const int port = FreePort();
  DaemonProcess daemon(
      {.workers = 1,
       .config = Config(", health_address: '127.0.0.1:" + std::to_string(port) + "'",
                        "limits: {max_pixels: 100}\n"),
       .serves = false});

  ASSERT_TRUE(daemon.Eventually([&] {
    return daemon.Status().reason().find("too many pixels") != std::string::npos;
  })) << daemon.Status().reason();
  EXPECT_FALSE(daemon.Status().serving());
  EXPECT_EQ(HealthAt(port), "NOT_SERVING");
  EXPECT_THAT(daemon.log(), HasSubstr("not_ready"));
  EXPECT_THAT(daemon.log(), Not(HasSubstr("event=serving")));
}

TEST(HealthTest, WorkersThatWereAllGoneShowAnewThatBatchesComeThrough) {
  DaemonProcess daemon({.workers = 1, .config = Config("")});

  // The back-off grows with each death, so that the status eventually falls between two starts.
  EXPECT_TRUE(daemon.Eventually([&] {
    for (const pid_t worker : daemon.WorkerPids()) kill(worker, SIGKILL);
    return !daemon.Status().serving();
  }));
  EXPECT_TRUE(daemon.Eventually([&] { return daemon.Status().serving(); }));
  EXPECT_GE(daemon.Status().worker_restarts(), 1u);
}

TEST(HealthTest, AnAddressInUseIsRefusedAtStartWithItsRemedy) {
  const int port = FreePort();
  const std::string config = Config(", health_address: '127.0.0.1:" + std::to_string(port) + "'");
  DaemonProcess first({.workers = 1, .config = config});
  TemporaryDirectory directory;
  std::string text = config;
  text.replace(text.find("SOCKET"), 6, directory.path() + "/run/penstock.sock");
  const std::string file = directory.path() + "/config.yaml";
  std::FILE* out = std::fopen(file.c_str(), "w");
  std::fputs(text.c_str(), out);
  std::fclose(out);

  const Ended second = RunProgram("penstockd", {"--config", file});

  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.output, AllOf(HasSubstr("127.0.0.1:" + std::to_string(port)),
                                   HasSubstr("in use"), HasSubstr("server.health_address")));
}

}  // namespace
}  // namespace penstock::testing
