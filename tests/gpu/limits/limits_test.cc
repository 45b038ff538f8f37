// Measures what a daemon's feed costs a trainer's GPU, how fast the daemon copies meanwhile, and
// how often. Uses a real daemon; figures and ceilings are medians of alternating runs. Prints rows
// of a Markdown table: subject, figure, ceiling, ratio, goal, and whether it was reached.
//
// There are two feeds. One decodes everything it delivers, on all cores but one. The batches of the
// other are already decoded in the pool, because a session holds them all and never takes one, so
// that only copies limit it. One lane of IPC sessions and one of VMM sessions take each feed. These
// lanes share no device memory, so every batch is copied twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/limits/feeder.h"
#include "tests/gpu/limits/measuring.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::DaemonProcess;

constexpr double kComputeGoal = 0.99, kCopyGoal = 0.95;
constexpr int kRounds = 5;
constexpr auto kWindow = milliseconds(800);
constexpr auto kUntilQuiet = milliseconds(300);
constexpr int kPhotographs = 512;
constexpr uint32_t kBatch = 128, kSide = 224;
constexpr uint32_t kHeld = 256;  // decoded batches in the pool
// At most this many batches are ahead of what was taken, in the pool and on the GPU.
constexpr uint32_t kAhead = 8;
// Each session takes all held batches; together they last for one measurement.
constexpr size_t kSessionsInALane = 8;

uint64_t ImageBytes() { return uint64_t{kBatch} * kSide * kSide * 3; }

// Figures measured while one kind of feed ran, one value per round.
struct Fed {
  const char* name;
  bool decoding;
  std::vector<double> kernels = {}, bytes = {}, rows = {};  // per second
};

class LimitsTest : public ::testing::Test {
 protected:
  // `seed` distinguishes feeds, so that none finds batches that another decoded.
  static SessionOptions Options(uint64_t seed) {
    SessionOptions options = testing::SmallRows(testing::Photographs(kPhotographs), kBatch);
    options.random_crop = RandomResizedCrop{.height = kSide, .width = kSide};
    options.seed = seed;
    options.epochs = 0;
    return options;
  }
  static DaemonProcess::Options AllCoresButOne() {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    return {.workers = std::max(1, cores - 1)};
  }
  Session Open(const SessionOptions& options) { return client_.Open(options).OrDie(); }

  // Keeps kHeld decoded batches in the pool.
  Session Hold() {
    SessionOptions options = Options(kHeldSeed);
    options.window = kHeld;
    Session session = Open(options);
    EXPECT_TRUE(daemon_.Eventually(
        [this] { return daemon_.Status().samples_decoded() >= uint64_t{kHeld} * kBatch; }, 120));
    return session;
  }
  std::unique_ptr<Feeder> Feed(bool decoding) {
    std::vector<Feeder::Lane> lanes;
    if (decoding) ++fresh_seed_;
    for (const HandleKind handle : {HandleKind::kIpc, HandleKind::kVmm}) {
      SessionOptions options = Options(decoding ? fresh_seed_ : kHeldSeed);
      options = On({"cuda:0", Delivery::kDevice, handle}, options);
      options.window = options.device_depth = kAhead / 2;
      lanes.emplace_back();
      for (size_t i = 0; i < (decoding ? 1 : kSessionsInALane); ++i)
        lanes.back().push_back(Open(options));
    }
    return std::make_unique<Feeder>(std::move(lanes), decoding ? UINT64_MAX : kHeld - kAhead);
  }
  // Copies everything once, because memory is registered at its first copy.
  void WarmUp() {
    Feed(false)->Await(2 * kHeld);
    Feed(true)->Await(50);
    std::this_thread::sleep_for(kUntilQuiet);
  }
  void Measure(Computing& compute, Fed& fed) {
    const std::unique_ptr<Feeder> feeder = Feed(fed.decoding);
    feeder->Await(40);  // more than were ready
    const v1::GetStatusResponse before = daemon_.Status();
    const auto begin = steady_clock::now();
    fed.kernels.push_back(compute.PerSecond(kWindow));
    const v1::GetStatusResponse after = daemon_.Status();
    const double seconds = duration<double>(steady_clock::now() - begin).count();
    EXPECT_TRUE(feeder->feeding()) << "the feed ended before the kernels did";
    fed.bytes.push_back(
        static_cast<double>(after.gpus(0).copied_bytes() - before.gpus(0).copied_bytes()) /
        seconds);
    fed.rows.push_back(static_cast<double>(after.samples_decoded() - before.samples_decoded()) /
                       seconds);
  }

  static constexpr uint64_t kHeldSeed = 1;
  uint64_t fresh_seed_ = 100;
  DaemonProcess daemon_{AllCoresButOne()};
  Client client_ = Client::Connect({.address = daemon_.address()}).OrDie();
};

TEST_F(LimitsTest, ATrainerComputesAndTheDaemonCopiesAsIfTheyWereAlone) {
  const cuda::DeviceScope scope(0);
  const Session held = Hold();
  WarmUp();
  Computing compute;
  PlainCopies plain(ImageBytes());
  std::vector<double> alone, copies;
  Fed feeds[] = {{"decoding", true}, {"decoded before", false}};
  for (int round = 0; round < kRounds; ++round) {
    copies.push_back(plain.BytesPerSecond());
    for (Fed& fed : feeds) {
      alone.push_back(compute.PerSecond(kWindow));
      Measure(compute, fed);
      std::this_thread::sleep_for(kUntilQuiet);
    }
  }

  for (const Fed& fed : feeds) {
    const double ratio = Median(fed.kernels) / Median(alone);
    PrintRow(absl::StrFormat("a trainer's kernels, feed %s: %.0f rows/s decoded, %.1f GB/s copied",
                             fed.name, Median(fed.rows), Median(fed.bytes) / 1e9),
             absl::StrFormat("%.0f kernels/s", Median(fed.kernels)),
             absl::StrFormat("%.0f kernels/s alone", Median(alone)), ratio, kComputeGoal);
    EXPECT_GE(ratio, kComputeGoal) << fed.name;
  }
  const double ratio = Median(feeds[1].bytes) / Median(copies);
  PrintRow(absl::StrFormat("copies of a running feed, %.1f MB each, by the clock on the wall",
                           static_cast<double>(ImageBytes()) / 1e6),
           absl::StrFormat("%.1f GB/s", Median(feeds[1].bytes) / 1e9),
           absl::StrFormat("%.1f GB/s plain pinned", Median(copies) / 1e9), ratio, kCopyGoal);
  EXPECT_GE(ratio, kCopyGoal);
}

// Takes up to `steps` batches of each session in turn. Returns the total number of batches.
uint64_t TakeInTurn(std::vector<Session>& sessions, uint64_t steps, Stream stream) {
  uint64_t taken = 0;
  for (uint64_t step = 0; step < steps; ++step) {
    for (Session& session : sessions) {
      Result<Batch> batch = session.Next(stream, std::chrono::seconds(30));
      if (batch.status().code() == Code::kEndOfEpoch)
        batch = session.Next(stream, std::chrono::seconds(30));
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok()) return taken;
      EXPECT_TRUE(batch->Release(stream).ok());
      ++taken;
    }
  }
  return taken;
}

// While eight sessions open one after another, the first session's window advances, and the pool
// may recycle its first batches before the last session requests them. Such batches are decoded and
// copied again. The window limits their number, and this ends once all sessions have taken a batch.
// From then on, each batch is copied exactly once.
TEST_F(LimitsTest, EightSessionsOfOneFeedCostOneCopyABatch) {
  constexpr int kSessions = 8;
  constexpr uint64_t kFirst = 4, kMeasured = 28;  // batches
  SessionOptions options = On({}, Options(kHeldSeed));
  options.device_depth = 2;
  std::vector<Session> sessions;
  for (int i = 0; i < kSessions; ++i) sessions.push_back(Open(options));
  const cuda::DeviceScope scope(sessions[0].device());
  const cuda::Stream stream = Must(cuda::Stream::Make());
  // Returns the number of copies once everything that fits ahead of the sessions is on the GPU.
  const auto settled_copies = [&] {
    uint64_t copies = daemon_.Status().gpus(0).copies();
    for (uint64_t before = copies + 1; before != copies;) {
      before = copies;
      std::this_thread::sleep_for(kUntilQuiet);
      copies = daemon_.Status().gpus(0).copies();
    }
    return copies;
  };

  ASSERT_EQ(TakeInTurn(sessions, kFirst, stream.get()), kSessions * kFirst);
  const uint64_t at_start = settled_copies();
  ASSERT_EQ(TakeInTurn(sessions, kMeasured, stream.get()), kSessions * kMeasured);
  const uint64_t copies = settled_copies() - at_start;

  std::printf(
      "| eight sessions, one feed: copies a batch | %lu copies | %lu batches | %.3f | = 1 | "
      "%s |\n",
      static_cast<unsigned long>(copies), static_cast<unsigned long>(kMeasured),
      static_cast<double>(copies) / static_cast<double>(kMeasured),
      copies == kMeasured ? "reached" : "MISSED");
  EXPECT_EQ(copies, kMeasured);
  EXPECT_LE(at_start, 2 * kFirst + options.device_depth);
}

}  // namespace
}  // namespace penstock::gpu
