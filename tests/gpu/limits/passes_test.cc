// Two GPUs: a batch that both want crosses PCIe once, and one GPU copies it from the other.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "absl/strings/str_format.h"
#include "common/cuda/peers.h"
#include "common/posix/memory.h"
#include "server/export/cuda_copier.h"
#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/limits/measuring.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

using exporting::Copier;
using exporting::CudaCopier;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::DaemonProcess;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBatchBytes = 38'535'168;  // 256 photographs of 224 × 224, and their labels
constexpr uint64_t kSlabBytes = 128 * kMiB;
constexpr double kUndisturbed = 0.99;

class PassesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<cuda::Device> devices = Must(cuda::Devices());
    if (devices.size() < 2) GTEST_SKIP() << "needs two GPUs; this machine has " << devices.size();
    const std::vector<cuda::Uuid> linked = cuda::LinkedGpus(0);
    if (std::find(linked.begin(), linked.end(), devices[1].uuid) == linked.end())
      GTEST_SKIP() << "NVLink does not connect the first two GPUs";
    first_ = devices[0].uuid;
    second_ = devices[1].uuid;
  }
  cuda::Uuid first_ = {}, second_ = {};
};

// A GPU's copier, and what it has completed.
class OneCopier {
 public:
  explicit OneCopier(const cuda::Uuid& gpu) : copier_(Must(CudaCopier::Start(gpu))) {}
  Copier& operator*() { return *copier_; }
  Copier* operator->() { return copier_.get(); }

  // Collects until there are this many results, or for 20 s.
  Copier::Done Await(size_t slabs, size_t copies) {
    Copier::Done all;
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while ((all.slabs.size() < slabs || all.copies.size() < copies) &&
           steady_clock::now() < deadline) {
      pollfd event = {copier_->event().get(), POLLIN, 0};
      ::poll(&event, 1, 100);
      posix::Drain(copier_->event());
      Copier::Done some = copier_->Collect();
      for (exporting::SlabResult& slab : some.slabs) all.slabs.push_back(std::move(slab));
      all.copies.insert(all.copies.end(), some.copies.begin(), some.copies.end());
      EXPECT_TRUE(some.not_passed.empty());
      EXPECT_OK(copier_->status());
    }
    return all;
  }
  cuda::SlabAddress MakeSlab(uint32_t id, cuda::HandleKind kind) {
    copier_->MakeSlab({.slab = id, .kind = kind, .bytes = kSlabBytes});
    const Copier::Done done = Await(1, 0);
    PENSTOCK_CHECK(done.slabs.size() == 1);
    EXPECT_OK(done.slabs[0].status);
    return done.slabs[0].address;
  }

 private:
  std::unique_ptr<Copier> copier_;
};

// A segment of the pool with a pattern that both copiers read.
class SharedSegment {
 public:
  explicit SharedSegment(std::initializer_list<OneCopier*> copiers) {
    std::memcpy(mapping_.data(), pattern_.data(), kBatchBytes);
    for (OneCopier* copier : copiers)
      (*copier)->OpenSegment(7, Must(memory_.Duplicate()), mapping_.size());
  }
  const std::vector<std::byte>& pattern() const { return pattern_; }

 private:
  const posix::Fd memory_ = Must(posix::MakeMemory("segment", 40 * kMiB));
  posix::Mapping mapping_ =
      Must(posix::Mapping::Map(memory_, 40 * kMiB, posix::Access::kReadWrite));
  const std::vector<std::byte> pattern_ = Pattern(kBatchBytes, 5);
};

class HandlesTest : public PassesTest, public ::testing::WithParamInterface<cuda::HandleKind> {};
INSTANTIATE_TEST_SUITE_P(All, HandlesTest,
                         ::testing::Values(cuda::HandleKind::kIpc, cuda::HandleKind::kVmm),
                         [](const auto& kind) {
                           return kind.param == cuda::HandleKind::kIpc ? "ipc" : "vmm";
                         });

TEST_P(HandlesTest, ABatchArrivesWholeFromTheOtherGpu) {
  OneCopier one(first_), two(second_);
  const cuda::SlabAddress from = one.MakeSlab(1, GetParam());
  const cuda::SlabAddress to = two.MakeSlab(2, GetParam());
  const SharedSegment segment({&one});

  one->Copy({.id = 1, .segment = 7, .slab = 1, .slab_offset = kMiB, .bytes = kBatchBytes});
  ASSERT_EQ(one.Await(0, 1).copies.size(), 1u);
  two->Pass({.id = 2,
             .from_slab = 1,
             .from = from,
             .from_offset = kMiB,
             .slab = 2,
             .slab_offset = 2 * kMiB,
             .bytes = kBatchBytes});
  ASSERT_EQ(two.Await(0, 1).copies.size(), 1u);

  const cuda::DeviceScope scope(to.ordinal);
  EXPECT_EQ(Must(ReadBack(to.data + 2 * kMiB, kBatchBytes)), segment.pattern());
}

// Passes batches on, or copies them from the host, without a pause.
class Traffic {
 public:
  Traffic(OneCopier& copier, const cuda::SlabAddress* from) : copier_(copier), from_(from) {}
  double BytesPerSecond(int copies) {
    const auto start = steady_clock::now();
    Order(copies);
    copier_.Await(0, copies);
    const double seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
    return copies * static_cast<double>(kBatchBytes) / seconds;
  }

 private:
  void Order(int copies) {
    for (int i = 0; i < copies; ++i) {
      const uint64_t offset = ++id_ % 3 * kBatchBytes;
      if (from_ != nullptr) {
        copier_->Pass({.id = id_,
                       .from_slab = 1,
                       .from = *from_,
                       .slab = 2,
                       .slab_offset = offset,
                       .bytes = kBatchBytes});
      } else {
        copier_->Copy(
            {.id = id_, .segment = 7, .slab = 2, .slab_offset = offset, .bytes = kBatchBytes});
      }
    }
  }
  OneCopier& copier_;
  const cuda::SlabAddress* const from_;
  uint64_t id_ = 0;
};

TEST_F(PassesTest, PassingOnIsFasterThanPcieAndDoesNotDisturbKernels) {
  constexpr int kRounds = 5;
  OneCopier one(first_), two(second_);
  const cuda::SlabAddress from = one.MakeSlab(1, cuda::HandleKind::kIpc);
  two.MakeSlab(2, cuda::HandleKind::kIpc);
  const SharedSegment segment({&one, &two});
  one->Copy({.id = 1, .segment = 7, .slab = 1, .bytes = kBatchBytes});
  ASSERT_EQ(one.Await(0, 1).copies.size(), 1u);
  Traffic host(two, nullptr), passing(two, &from);
  host.BytesPerSecond(10);
  passing.BytesPerSecond(10);

  std::vector<double> copied, passed;
  for (int round = 0; round < kRounds; ++round) {
    copied.push_back(host.BytesPerSecond(100));
    passed.push_back(passing.BytesPerSecond(300));
  }
  PrintRow("batches from another GPU", absl::StrFormat("%.1f GB/s", Median(passed) / 1e9),
           absl::StrFormat("%.1f GB/s from the host", Median(copied) / 1e9),
           Median(passed) / Median(copied), 1.5);
  EXPECT_GE(Median(passed) / Median(copied), 1.5);

  for (const int ordinal : {0, 1}) {
    const cuda::DeviceScope scope(ordinal);
    Computing compute;
    std::vector<double> alone, beside;
    for (int round = 0; round < kRounds; ++round) {
      alone.push_back(compute.PerSecond(milliseconds(500)));
      std::atomic<bool> stop = false;
      // A batch of 256 images for a trainer of 13,000 images/s, on each of seven other GPUs.
      std::thread traffic([&] {
        while (!stop) {
          passing.BytesPerSecond(7);
          std::this_thread::sleep_for(milliseconds(19));
        }
      });
      beside.push_back(compute.PerSecond(milliseconds(500)));
      stop = true;
      traffic.join();
    }
    const double ratio = Median(beside) / Median(alone);
    PrintRow(absl::StrFormat("kernels of the GPU that %s", ordinal == 0 ? "gives" : "gets"),
             absl::StrFormat("%.0f kernels/s", Median(beside)),
             absl::StrFormat("%.0f kernels/s alone", Median(alone)), ratio, kUndisturbed);
    EXPECT_GE(ratio, kUndisturbed);
  }
}

// Four sessions on each GPU take the same batches in turn.
TEST_F(PassesTest, EightSessionsOfOneFeedOnTwoGpusCostOneCopyFromTheHost) {
  constexpr int kSessions = 8;
  constexpr uint64_t kFirst = 4, kMeasured = 28;  // batches
  DaemonProcess daemon({.workers = 4});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = testing::SmallRows(testing::Photographs(512), 128);
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};
  options.epochs = 0;
  options.device_depth = 2;
  std::vector<Session> sessions;
  for (int i = 0; i < kSessions; ++i)
    sessions.push_back(client.Open(On({i % 2 == 0 ? "cuda:0" : "cuda:1"}, options)).OrDie());
  std::vector<cuda::Stream> streams;
  for (const int ordinal : {0, 1}) {
    const cuda::DeviceScope scope(ordinal);
    streams.push_back(Must(cuda::Stream::Make()));
  }
  const auto take = [&](uint64_t steps) {
    for (uint64_t step = 0; step < steps; ++step) {
      for (int i = 0; i < kSessions; ++i) {
        const cuda::DeviceScope scope(i % 2);
        const Stream stream = streams[i % 2].get();
        Result<Batch> batch = sessions[i].Next(stream, std::chrono::seconds(30));
        if (batch.status().code() == Code::kEndOfEpoch)
          batch = sessions[i].Next(stream, std::chrono::seconds(30));
        ASSERT_TRUE(batch.ok()) << batch.status().ToString();
        ASSERT_TRUE(batch->Release(stream).ok());
      }
    }
  };
  struct Counts {
    uint64_t all = 0, from_gpus = 0;
    bool operator==(const Counts&) const = default;
  };
  const auto settled = [&] {
    Counts counts = {.all = 1}, before;
    while (counts != before) {
      before = counts;
      std::this_thread::sleep_for(milliseconds(300));
      counts = {};
      const v1::GetStatusResponse status = daemon.Status();
      for (const v1::GpuStatus& gpu : status.gpus()) {
        counts.all += gpu.copies();
        counts.from_gpus += gpu.copies_from_gpus();
      }
    }
    return counts;
  };

  take(kFirst);
  const Counts start = settled();
  take(kMeasured);
  const Counts end = settled();

  std::printf("two GPUs, eight sessions: %lu batches, %lu copies, %lu of them between the GPUs\n",
              static_cast<unsigned long>(kMeasured),
              static_cast<unsigned long>(end.all - start.all),
              static_cast<unsigned long>(end.from_gpus - start.from_gpus));
  EXPECT_EQ(end.all - start.all, 2 * kMeasured);
  EXPECT_EQ(end.from_gpus - start.from_gpus, kMeasured);
}

}  // namespace
}  // namespace penstock::gpu
