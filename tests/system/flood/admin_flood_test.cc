// Measures what a flood of the daemon's own socket costs the daemon and a feed. The flooder is a
// separate process of low priority. To exclude the CPU time that it takes from the feed, the
// baseline runs a busy loop of the same priority.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/support/programs/busy_trainer.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/rounds.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Minimum values that make the load a flood, even on a machine with little CPU time for
// low-priority processes: connections opened per round, the daemon's peak number of open
// descriptors, and answered calls in total.
constexpr uint64_t kConnections = 300;
constexpr size_t kDescriptors = 500;
constexpr uint64_t kAnswered = 500;
// The fraction of its rate that the feed keeps. Sanitizers make each connection more expensive.
#if defined(PENSTOCK_ASAN)
constexpr double kRateKept = 0.6;
#else
constexpr double kRateKept = 0.8;
#endif
constexpr double kGoal = 0.95;
constexpr uint64_t kPromised = (64 + 32) << 20;  // memory beside the pool, with one worker

class Flooder {
 public:
  struct Done {
    uint64_t answered = 0, refused = 0, connected = 0, dropped = 0, half_open_dropped = 0,
             long_refused = 0;
  };

  Flooder(const std::string& address, const std::string& kind, std::string output)
      : output_(std::move(output)) {
    std::fflush(stdout);  // the child has a copy of the buffer
    pid_ = fork();
    if (pid_ != 0) return;
    const std::string program = ProgramPath("penstock-test-flooder");
    if (std::freopen(output_.c_str(), "w", stdout) != nullptr)
      execl(program.c_str(), program.c_str(), address.c_str(), kind.c_str(), nullptr);
    _exit(126);
  }
  ~Flooder() {
    if (pid_ > 0) End();
  }

  // Stops the flooder and returns its counters.
  Done End() {
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    EXPECT_EQ(status, 0);
    Done done;
    std::string word;
    std::ifstream(output_) >> word >> done.answered >> word >> done.refused >> word >>
        done.connected >> word >> done.dropped >> word >> done.half_open_dropped >> word >>
        done.long_refused;
    return done;
  }

 private:
  const std::string output_;
  pid_t pid_ = -1;
};

class AdminFloodTest : public ::testing::Test {
 protected:
  // Memory of the daemon and its worker, without the pool.
  uint64_t Memory() {
    uint64_t bytes = MemoryOf(daemon_.pid()).own_bytes;
    for (const pid_t worker : ChildrenOf(daemon_.pid())) bytes += MemoryOf(worker).own_bytes;
    return bytes;
  }

  std::string OutputFile() { return daemon_.directory() + "/flooder"; }

  DaemonProcess daemon_{
      {.workers = 1,
       .config = "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 64MiB}\n"
                 "datasets: [{name: photographs, folder: " +
                 Photographs(240) + "}]\n"}};
  const BusyTrainer trainer_{daemon_.address()};
};

// Totals of all floods, and the daemon's peak usage during them.
struct Sum {
  int floods = 0;
  uint64_t answered = 0, connected = 0, long_refused = 0, memory = 0;
  size_t descriptors = 0;
  std::chrono::nanoseconds cpu{};
};

// The goal is 95 %. The test repeats rounds until their median reaches it, which may not happen on
// a busy two-core machine, where the feed, daemon and flooder share the cores.
TEST_F(AdminFloodTest, LeavesTheFeedItsRateAndTheDaemonItsMemoryAndDescriptors) {
  trainer_.RateFor(seconds(1));
  const size_t descriptors = OpenDescriptorsOf(daemon_.pid());
  Sum sum;

  const Rounds rounds = MeasureRounds(kGoal, [&] {
    Flooder burner(daemon_.address(), "burn", OutputFile());
    trainer_.RateFor(milliseconds(300));
    const auto begun = CpuTimeOf(daemon_.pid());
    const double beside_a_burner = trainer_.RateFor(milliseconds(1500));
    burner.End();
    const auto between = CpuTimeOf(daemon_.pid());
    Flooder flooder(daemon_.address(), "flood", OutputFile());
    trainer_.RateFor(milliseconds(1000));
    const auto flooded = CpuTimeOf(daemon_.pid());
    const double beside_a_flood = trainer_.RateFor(milliseconds(1500));
    ++sum.floods;
    sum.cpu += (CpuTimeOf(daemon_.pid()) - flooded) - (between - begun);
    sum.memory = std::max(sum.memory, Memory());
    sum.descriptors = std::max(sum.descriptors, OpenDescriptorsOf(daemon_.pid()));
    // Operators still get through.
    EXPECT_TRUE(daemon_.Eventually([&] { return daemon_.Ctl({"status"}).exit_code == 0; }));
    const Flooder::Done done = flooder.End();
    sum.answered += done.answered;
    sum.connected += done.connected;
    sum.long_refused += done.long_refused;
    return beside_a_flood / beside_a_burner;
  });

  std::printf(
      "flooded: %.3f of the rate (%.3f to %.3f), %.0f calls a second, %lu connections, %lu "
      "long messages, %.0f %% of a core more, %lu MiB, %zu descriptors\n",
      rounds.median(), rounds.sorted.front(), rounds.sorted.back(),
      static_cast<double>(sum.answered) / (2.5 * sum.floods),
      static_cast<unsigned long>(sum.connected), static_cast<unsigned long>(sum.long_refused),
      std::chrono::duration<double>(sum.cpu).count() / (1.5 * sum.floods) * 100,
      static_cast<unsigned long>(sum.memory >> 20), sum.descriptors);
  EXPECT_GE(rounds.median(), kRateKept);
  EXPECT_GE(sum.answered, kAnswered);
  EXPECT_GE(sum.connected, static_cast<uint64_t>(sum.floods) * kConnections);
  EXPECT_GE(sum.descriptors, kDescriptors);
  EXPECT_GE(sum.long_refused, 3u);
#if !defined(PENSTOCK_ASAN)  // ASan keeps freed memory
  EXPECT_LE(sum.memory, kPromised);
#endif
  EXPECT_TRUE(
      daemon_.Eventually([&] { return OpenDescriptorsOf(daemon_.pid()) <= descriptors + 4; }, 15));
  const std::string log = daemon_.log();
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 100);
}

// Tests the doorway, where a process must send Hello first.
TEST_F(AdminFloodTest, HandshakesThatAreNotFinishedLeaveTheFeedItsRate) {
  trainer_.RateFor(seconds(1));
  uint64_t connected = 0;

  const Rounds rounds = MeasureRounds(kGoal, [&] {
    Flooder burner(daemon_.address(), "burn", OutputFile());
    trainer_.RateFor(milliseconds(300));
    const double beside_a_burner = trainer_.RateFor(milliseconds(1500));
    burner.End();
    Flooder flooder(daemon_.address(), "handshakes", OutputFile());
    trainer_.RateFor(milliseconds(300));
    const double beside_a_flood = trainer_.RateFor(milliseconds(1500));
    EXPECT_TRUE(daemon_.Eventually([&] { return daemon_.Ctl({"status"}).exit_code == 0; }));
    connected += flooder.End().connected;
    return beside_a_flood / beside_a_burner;
  });

  std::printf("handshakes: %.3f of the rate (%.3f to %.3f), %lu connections\n", rounds.median(),
              rounds.sorted.front(), rounds.sorted.back(), static_cast<unsigned long>(connected));
  EXPECT_GE(rounds.median(), kRateKept);
  EXPECT_GE(connected, 1000u);
  const std::string log = daemon_.log();
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 200);
}

// The daemon closes connections that send nothing, or only HTTP/2's preface, after five seconds. If
// memory for calls runs short, it also closes idle connections; gRPC's clients reconnect for the
// next call.
TEST_F(AdminFloodTest, HalfOpenConnectionsAreClosedAndThoseThatSpeakStay) {
  Flooder flooder(daemon_.address(), "connections", OutputFile());
  trainer_.RateFor(seconds(8));
  const Flooder::Done done = flooder.End();

  std::printf("dropped: %lu of 100 half open, %lu of those that speak\n",
              static_cast<unsigned long>(done.half_open_dropped),
              static_cast<unsigned long>(done.dropped));
  EXPECT_GE(done.half_open_dropped, 80u);
  EXPECT_LE(done.dropped, 45u);  // allows for a busy machine
}

// The daemon refuses a message by its declared length and keeps none of the bytes already sent.
TEST_F(AdminFloodTest, AMessageOfAQuarterOfAGigabyteIsRefusedAndNotKept) {
  grpc::GenericStub stub(
      grpc::CreateChannel("unix:" + daemon_.address(), grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(60));
  const std::string bytes(256 << 20, 'x');
  grpc::Slice slice(bytes);
  const grpc::ByteBuffer message(&slice, 1);
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call =
      stub.PrepareUnaryCall(&context, "/penstock.v1.AdminService/ListQuarantine", message, &queue);
  std::atomic<bool> ended = false;
  uint64_t most_memory = 0;
  std::thread watcher([&] {
    while (!ended) {
      most_memory = std::max(most_memory, Memory());
      std::this_thread::sleep_for(milliseconds(2));
    }
  });

  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  ended = true;
  watcher.join();

  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
#if !defined(PENSTOCK_ASAN)
  EXPECT_LE(most_memory, kPromised);
#endif
  EXPECT_GT(trainer_.RateFor(seconds(1)), 0);
  EXPECT_EQ(daemon_.Status().protocol_version(), 1u);
}

}  // namespace
}  // namespace penstock::testing
