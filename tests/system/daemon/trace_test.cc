// Takes a trace of a running daemon, writes it, and follows it with a program that reads its JSON.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "penstock/v1/admin.grpc.pb.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class TraceTest : public ::testing::Test {
 protected:
  // Trains until the test ends.
  void Train() {
    trainer_ = std::thread([this] {
      SessionOptions options = SmallRows(Photographs(60), 8);
      options.name = "resnet \"50\"";
      options.epochs = 0;
      Session session =
          Client::Connect({.address = daemon_.address()}).OrDie().Open(options).OrDie();
      while (!stop_) {
        const auto batch = session.Next(seconds(20));
        if (batch.ok()) {
          ++batches_;
        } else if (batch.status().code() != Code::kEndOfEpoch) {
          break;
        }
      }
    });
    ASSERT_TRUE(daemon_.Eventually([this] { return batches_ > 3; }, 60));
  }
  ~TraceTest() override {
    stop_ = true;
    if (trainer_.joinable()) trainer_.join();
  }
  std::string file() const { return folder_.path() + "/trace.json"; }

  TemporaryDirectory folder_;
  DaemonProcess daemon_{{.workers = 2}};
  std::atomic<bool> stop_{false};
  std::atomic<int> batches_{0};
  std::thread trainer_;
};

TEST_F(TraceTest, ASecondTraceIsRefusedWhileOneIsTaken) {
  std::thread first([this] {
    EXPECT_EQ(daemon_.Ctl({"trace", "--seconds", "3", "-o", file()}).exit_code, 0);
  });
  std::this_thread::sleep_for(milliseconds(700));

  const Ended second = daemon_.Ctl({"trace", "--seconds", "1", "-o", file() + "2"});

  first.join();
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.output, HasSubstr("a trace is already being taken"));
  EXPECT_FALSE(std::filesystem::exists(file() + "2"));
}

TEST_F(TraceTest, ATraceThatIsCancelledMakesRoomForAnother) {
  const auto stub = v1::AdminService::NewStub(
      grpc::CreateChannel("unix:" + daemon_.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GetTraceRequest request;
  request.set_duration_ms(60'000);
  const auto reader = stub->GetTrace(&context, request);
  std::this_thread::sleep_for(milliseconds(300));

  context.TryCancel();

  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(daemon_.Eventually([this] {
    return daemon_.Ctl({"trace", "--seconds", "0.1", "-o", file()}).exit_code == 0;
  }));
}

TEST_F(TraceTest, ABatchCanBeFollowedFromReadingToTheTrainer) {
  Train();

  const Ended traced = daemon_.Ctl({"trace", "--seconds", "1.5", "-o", file()});

  ASSERT_EQ(traced.exit_code, 0) << traced.output;
  EXPECT_THAT(traced.output, HasSubstr("https://ui.perfetto.dev"));
  const std::string follow = "/usr/bin/python3 " PENSTOCK_FOLLOW_TRACE " " + file();
  EXPECT_EQ(std::system(follow.c_str()), 0);
}

TEST_F(TraceTest, StatusSaysWhereTheTimeGoesAndWhoWaitsForWhom) {
  Train();
  ASSERT_TRUE(daemon_.Eventually(
      [this] { return daemon_.Status().feeds(0).verdict() != "too little happened to tell"; }));

  const v1::FeedStatus feed = daemon_.Status().feeds(0);

  EXPECT_GT(feed.stages().samples(), 0u);
  EXPECT_GT(feed.stages().decode_seconds(), 0);
  EXPECT_GT(feed.stages().read_seconds(), 0);
  EXPECT_GT(feed.stages().batches(), 0u);
  EXPECT_GT(feed.stages().assemble_seconds(), 0);
  EXPECT_GT(feed.stages().waits(), 0u);
  EXPECT_EQ(feed.stages().copies(), 0u);
  EXPECT_THAT(feed.verdict(), AnyOf(HasSubstr("bottleneck"), HasSubstr("a larger window")));
  // The verdict may have changed since.
  EXPECT_TRUE(daemon_.Eventually([this] {
    const std::string verdict = daemon_.Status().feeds(0).verdict();
    return daemon_.Ctl({"status"}).output.find(verdict.substr(0, 12)) != std::string::npos;
  }));
}

}  // namespace
}  // namespace penstock::testing
