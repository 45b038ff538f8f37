// Kills trainers whose kernels read a slot and daemons under their trainers, lets consumers write
// to slabs, and checks what others notice, and that nothing grows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/cuda/memory_info.h"
#include "common/cuda/memory_use.h"
#include "common/posix/memory.h"
#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::DaemonProcess;
using testing::Delivered;
using testing::Ended;
using testing::OneEpoch;
using testing::ProgramPath;
using testing::RunProgram;
using testing::SmallRows;

constexpr uint32_t kBatch = 8;
constexpr size_t kPage = 4096;

// A trainer whose kernel reads one batch repeatedly, and reports into memory shared with the test.
class WatchingTrainer {
 public:
  WatchingTrainer(const std::string& address, HandleKind handle)
      : memory_(posix::MakeMemory("watch", kPage).value()),
        mapping_(posix::Mapping::Map(memory_, kPage, posix::Access::kReadWrite).value()) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    const std::string program = ProgramPath("penstock-gpu-trainer");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], 1);
      dup2(memory_.get(), 3);
      execl(program.c_str(), program.c_str(), address.c_str(), TestPhotographs().c_str(), "watch",
            "cuda:0", "device", HandleName(handle), nullptr);
      _exit(127);
    }
    close(out[1]);
    char said[16] = {};
    EXPECT_EQ(read(out[0], said, 8), 8) << "the trainer did not get its batch";
    close(out[0]);
  }
  ~WatchingTrainer() { Kill(); }

  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  WatchReport report() const {
    const volatile auto* report = reinterpret_cast<const WatchReport*>(mapping_.data());
    return {report->passes, report->mismatches};
  }

 private:
  const posix::Fd memory_;
  const posix::Mapping mapping_;
  pid_t pid_ = -1;
};

// While this exists, new daemons overwrite a slot as soon as nobody holds it, so that a late reader
// sees the change.
class Poisoning {
 public:
  Poisoning() { setenv(kName, "1", 1); }
  ~Poisoning() { unsetenv(kName); }

 private:
  static constexpr char kName[] = "PENSTOCK_TEST_POISON_DEVICE_SLOTS";
};

class DeliveryFailureTest : public ::testing::TestWithParam<HandleKind> {
 protected:
  SessionOptions Options() const {
    return On({"cuda:0", Delivery::kDevice, GetParam()}, SmallRows(TestPhotographs(), kBatch));
  }
  static SessionOptions HostOptions() { return SmallRows(TestPhotographs(), kBatch); }
};

INSTANTIATE_TEST_SUITE_P(Both, DeliveryFailureTest,
                         ::testing::Values(HandleKind::kIpc, HandleKind::kVmm),
                         [](const auto& info) { return std::string(HandleName(info.param)); });

// The daemon must not reuse the slot before the process's GPU work has ended; otherwise the bytes
// would change under the kernel.
TEST_P(DeliveryFailureTest, ATrainerKilledInTheMiddleOfAKernelKeepsItsSlotUntilItIsGone) {
  const Poisoning poisoning;
  DaemonProcess daemon({.workers = 2});
  const Delivered expected = OneEpoch(daemon.address(), HostOptions());
  WatchingTrainer trainer(daemon.address(), GetParam());
  const uint64_t before = trainer.report().passes;

  EXPECT_TRUE(OneEpochOnGpu(daemon.address(), Options()).delivered == expected);
  EXPECT_GT(trainer.report().passes, before);  // the kernel kept reading
  std::thread neighbour([&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(OneEpochOnGpu(daemon.address(), Options()).delivered == expected);
    }
  });
  trainer.Kill();
  neighbour.join();

  EXPECT_EQ(trainer.report().mismatches, 0u);
  EXPECT_TRUE(daemon.Eventually([&] {
    const v1::GetStatusResponse status = daemon.Status();
    return status.sessions() == 0 && status.pool().slots_held() == 0 &&
           status.gpus(0).sessions() == 0;
  }));
  EXPECT_TRUE(OneEpochOnGpu(daemon.address(), Options()).delivered == expected);
}

TEST_P(DeliveryFailureTest, ADaemonKilledUnderTrainersIsSaidWithinTwoSecondsAndResumed) {
  DaemonProcess daemon({.workers = 2});
  const Delivered expected = OneEpoch(daemon.address(), HostOptions());
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Options()).OrDie();
  const Desk desk(session);
  Delivered got;
  ASSERT_TRUE(TakeOnGpu(session, desk, desk.stream(), 3, got).ok());
  Batch held = session.Next(desk.stream()).OrDie();
  std::vector<uint8_t> before(held.FinishedBytes(kAsStored)), after(before.size());
  ASSERT_TRUE(held.CopyImages(before.data(), before.size()).ok());
  const std::vector<int64_t> labels(held.labels().begin(), held.labels().end());
  const std::vector<uint64_t> ids(held.sample_ids().begin(), held.sample_ids().end());

  daemon.Kill(SIGKILL);
  const auto killed = steady_clock::now();
  Status status;
  do {  // batches announced earlier are still delivered
    status = TakeOnGpu(session, desk, desk.stream(), 1, got);
  } while (status.ok());

  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  EXPECT_LT(steady_clock::now() - killed, seconds(2));
  ASSERT_TRUE(held.CopyImages(after.data(), after.size()).ok());
  EXPECT_EQ(after, before);
  testing::NoteRows(held, {after, labels, ids}, got);
  daemon.Start();
  const Status end =
      TakeOnGpu(session, desk, desk.stream(), std::numeric_limits<uint64_t>::max(), got);
  EXPECT_EQ(end.code(), Code::kEndOfEpoch) << end.ToString();
  EXPECT_TRUE(held.FinishInto(kAsStored, desk.into(), desk.stream()).ok());
  EXPECT_TRUE(got == expected);
  EXPECT_EQ(got.twice, 0u);
}

TEST_P(DeliveryFailureTest, ADaemonKilledUnderAKernelThatReadsASlotChangesNoByte) {
  DaemonProcess daemon({.workers = 1});
  WatchingTrainer trainer(daemon.address(), GetParam());

  daemon.Kill(SIGKILL);
  const uint64_t then = trainer.report().passes;
  std::this_thread::sleep_for(milliseconds(500));

  EXPECT_GT(trainer.report().passes, then);
  EXPECT_EQ(trainer.report().mismatches, 0u);
}

// The trainer holds a batch of the dead daemon, and so its slab, on a GPU without memory for two
// slabs. The new daemon reports this, and serves as soon as the old slab is freed.
TEST_P(DeliveryFailureTest, ANewDaemonBudgetsForTheSlabsThatTheOldOneLeft) {
  constexpr uint64_t kMiB = 1 << 20, kLeft = 256 * kMiB, kSlab = 30 * kMiB;
  DaemonProcess daemon({.workers = 2});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions large = Options();
  large.epochs = 0;       // more batches remain, however many were ready before the kill
  large.batch_size = 64;  // 3 batches of 9.2 MiB
  large.random_crop = RandomResizedCrop();
  Session session = client.Open(large).OrDie();
  const Desk desk(session);
  Batch held = session.Next(desk.stream()).OrDie();
  ASSERT_TRUE(held.CopyImages(std::vector<uint8_t>(held.FinishedBytes(kAsStored)).data(),
                              held.FinishedBytes(kAsStored))
                  .ok());
  daemon.Kill(SIGKILL);
  Status gone;
  while (gone.code() != Code::kUnavailable) {  // batches, ends of epochs and timeouts come first
    gone = session.Next(milliseconds(100)).status();
  }
  ASSERT_THAT(gone.message(), ::testing::HasSubstr("the daemon is gone"));
  daemon.Start();
  Client neighbour = Client::Connect({.address = daemon.address()}).OrDie();
  const Session small = neighbour.Open(Options()).OrDie();  // creates the daemon's context
  const cuda::MemoryInfo memory_info = Must(cuda::QueryMemory());
  ASSERT_GT(memory_info.free_bytes, kLeft + kSlab);
  const auto ballast = Must(cuda::DeviceMemory::Make((memory_info.free_bytes - kLeft - kSlab / 2) /
                                                     (2 * kMiB) * (2 * kMiB)));

  const Status refused = session.Next(desk.stream(), seconds(2)).status();
  held.Release();
  const Result<Batch> next = session.Next(desk.stream(), seconds(20));

  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("256.0 MiB are reserved"));
  EXPECT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_EQ(session.delivery(), Delivery::kDevice);
}

// ---- A lost GPU ----

TEST(GpuLossTest, AGpuThatIsLostEndsTheDaemonWithinFiveSecondsInWords) {
  const testing::TemporaryDirectory memory_info;
  const std::string trigger = memory_info.path() + "/break";
  DaemonProcess daemon(
      {.workers = 2,
       .under = {"/usr/bin/env", "LD_PRELOAD=" + ProgramPath("penstock-gpu-fault.so"),
                 "PENSTOCK_GPU_FAULT=" + trigger}});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = On({}, SmallRows(TestPhotographs(), kBatch));
  options.epochs = 0;
  Session session = client.Open(options).OrDie();
  const Desk desk(session);
  Delivered got;
  ASSERT_TRUE(TakeOnGpu(session, desk, desk.stream(), 1, got).ok());

  std::ofstream(trigger) << "now";
  const auto broken = steady_clock::now();
  Status status;
  do {
    status = TakeOnGpu(session, desk, desk.stream(), 1, got);
  } while (status.ok() || status.code() == Code::kEndOfEpoch);
  const int code = daemon.Kill(0);  // signal 0: only waits

  EXPECT_EQ(code, 1) << daemon.log();
  EXPECT_LT(steady_clock::now() - broken, seconds(5));
  EXPECT_TRUE(status.code() == Code::kUnavailable || status.code() == Code::kInternal ||
              status.code() == Code::kFailedPrecondition)
      << status.ToString();
  EXPECT_THAT(daemon.log(), ::testing::HasSubstr("GPU")) << daemon.log();
}

TEST(VmmSlabTest, AConsumerThatWritesIntoItHurtsItselfAlone) {
  DaemonProcess daemon({.workers = 2});
  const SessionOptions options = SmallRows(TestPhotographs(), kBatch);
  const Delivered expected = OneEpoch(daemon.address(), options);

  const Ended writer = RunProgram("penstock-gpu-trainer", {daemon.address(), TestPhotographs(),
                                                           "write", "cuda:0", "device", "vmm"});

  EXPECT_EQ(writer.exit_code, 0) << writer.output;
  EXPECT_TRUE(daemon.Status().serving()) << daemon.Status().reason();
  const Epoch epoch =
      OneEpochOnGpu(daemon.address(), On({"cuda:0", Delivery::kDevice, HandleKind::kVmm}, options));
  EXPECT_TRUE(epoch.delivered == expected);
}

// ---- Growth ----

struct Use {
  uint64_t device_bytes = 0;
  size_t resident_bytes = 0, descriptors = 0, threads = 0;
};

size_t EntriesOf(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Descriptors that NVML keeps after a query of the device's memory. The client does not own them.
size_t kept_by_asking = 0;

Use UseNow(const cuda::Device& device) {
  Use use;
  use.descriptors = EntriesOf("/proc/self/fd") - kept_by_asking;
  use.device_bytes = Must(cuda::UsedBytes(device.uuid));
  kept_by_asking = EntriesOf("/proc/self/fd") - use.descriptors;
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  use.resident_bytes = resident * kPage;
  use.threads = EntriesOf("/proc/self/task");
  return use;
}

// Takes PENSTOCK_CYCLES (default 20000) batches of one row each. The first tenth is a warm-up.
class GrowthTest : public ::testing::TestWithParam<Delivery> {};

INSTANTIATE_TEST_SUITE_P(All, GrowthTest, ::testing::Values(Delivery::kDevice, Delivery::kPinned),
                         [](const auto& info) { return std::string(DeliveryName(info.param)); });

TEST_P(GrowthTest, TakingAndReleasingLeavesNothingBehind) {
  const char* request = std::getenv("PENSTOCK_CYCLES");
  const uint64_t cycles = request == nullptr ? 20'000 : std::strtoull(request, nullptr, 10);
  const int workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency() - 2));
  DaemonProcess daemon({.workers = workers});
  SessionOptions options = On({"cuda:0", GetParam()}, SmallRows(TestPhotographs(), 1));
  options.random_crop = RandomResizedCrop{.height = 8, .width = 8};
  options.epochs = 0;
  options.window = 128;
  options.device_depth = 16;
  const cuda::Device device = Must(cuda::Devices()).front();
  Session session = Client::Connect({.address = daemon.address()}).OrDie().Open(options).OrDie();
  const Desk desk(session);
  Use warm;

  for (uint64_t cycle = 0; cycle < cycles;) {
    const Result<Batch> batch = session.NextInto(kAsStored, desk.into(), desk.stream());
    if (batch.status().code() == Code::kEndOfEpoch) continue;
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    if (++cycle == cycles / 10) warm = UseNow(device);
  }

  const Use now = UseNow(device);
  std::printf(
      "%s: %lu cycles; device memory %+ld KiB, resident %+ld KiB, descriptors %+ld, "
      "threads %+ld\n",
      DeliveryName(GetParam()), static_cast<unsigned long>(cycles),
      (static_cast<long>(now.device_bytes) - static_cast<long>(warm.device_bytes)) / 1024,
      (static_cast<long>(now.resident_bytes) - static_cast<long>(warm.resident_bytes)) / 1024,
      static_cast<long>(now.descriptors) - static_cast<long>(warm.descriptors),
      static_cast<long>(now.threads) - static_cast<long>(warm.threads));
  EXPECT_LE(now.device_bytes, warm.device_bytes);
  EXPECT_LE(now.resident_bytes, warm.resident_bytes + (1u << 20));
  EXPECT_LE(now.descriptors, warm.descriptors);
  EXPECT_LE(now.threads, warm.threads);
}

TEST(SessionGrowthTest, OpeningAndClosingSessionsLeavesNothingBehind) {
  DaemonProcess daemon({.workers = 2});
  const SessionOptions options = On({}, SmallRows(TestPhotographs(), kBatch));
  const cuda::Device device = Must(cuda::Devices()).front();
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Use warm;

  for (int cycle = 0; cycle < 300; ++cycle) {
    Session session = client.Open(options).OrDie();
    const Desk desk(session);
    ASSERT_TRUE(session.NextInto(kAsStored, desk.into(), desk.stream()).ok());
    ASSERT_TRUE(session.Close().ok());
    if (cycle == 100) warm = UseNow(device);
  }

  const Use now = UseNow(device);
  EXPECT_LE(now.device_bytes, warm.device_bytes);
  EXPECT_LE(now.resident_bytes, warm.resident_bytes + (4u << 20));
  EXPECT_LE(now.descriptors, warm.descriptors);
  EXPECT_LE(now.threads, warm.threads);
}

}  // namespace
}  // namespace penstock::gpu
