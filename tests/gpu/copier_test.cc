// Tests the daemon's copier on a real GPU: the slabs that it makes, its copies, its rate, and how
// it reports a missing GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include "common/cuda/memory_info.h"
#include "common/cuda/registration.h"
#include "common/posix/memory.h"
#include "server/export/cuda_copier.h"
#include "tests/gpu/gpu.h"

namespace penstock::exporting {
namespace {

using cuda::HandleKind;
using gpu::Must;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

bool AllAre(std::byte value, std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte each) { return each == value; });
}

class CopierTest : public ::testing::Test {
 protected:
  void SetUp() override { copier_ = Must(CudaCopier::Start(Gpu())); }
  virtual cuda::Uuid Gpu() const { return Must(cuda::Devices()).at(0).uuid; }

  // Collects results until there are this many, or for 20 s.
  Copier::Done Await(size_t slabs, size_t copies) {
    Copier::Done all;
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while (all.slabs.size() < slabs || all.copies.size() < copies) {
      pollfd event = {copier_->event().get(), POLLIN, 0};
      ::poll(&event, 1, 100);
      posix::Drain(copier_->event());
      Copier::Done some = copier_->Collect();
      for (SlabResult& slab : some.slabs) all.slabs.push_back(std::move(slab));
      all.copies.insert(all.copies.end(), some.copies.begin(), some.copies.end());
      EXPECT_OK(copier_->status());
      if (steady_clock::now() > deadline) break;
    }
    return all;
  }
  // Makes a slab and opens it like a consumer. Uses a descriptor, which works within one process
  // too.
  cuda::ImportedSlab MakeSlab(uint32_t id, uint64_t bytes) {
    SlabOrder order = {.slab = id, .kind = HandleKind::kVmm, .bytes = bytes};
    order.canary.fill(std::byte{0x5C});
    copier_->MakeSlab(order);
    Copier::Done done = Await(1, 0);
    PENSTOCK_CHECK(done.slabs.size() == 1);
    EXPECT_OK(done.slabs[0].status);
    return Must(cuda::ImportedSlab::OpenVmm(done.slabs[0].descriptor, bytes));
  }
  // Makes a segment of the pool and fills it with a pattern.
  posix::Mapping MakeSegment(uint32_t id, uint64_t bytes) {
    const posix::Fd memory = Must(posix::MakeMemory("segment", bytes));
    posix::Mapping mapping = Must(posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite));
    const std::vector<std::byte> pattern = gpu::Pattern(bytes, id);
    std::memcpy(mapping.data(), pattern.data(), bytes);
    copier_->OpenSegment(id, Must(memory.Duplicate()), bytes);
    return mapping;
  }

  std::unique_ptr<Copier> copier_;
};

// Allocates all but `bytes` of the GPU's free memory.
cuda::DeviceMemory TakeAllBut(uint64_t bytes) {
  const cuda::DeviceScope scope(0);
  const cuda::MemoryInfo memory_info = Must(cuda::QueryMemory());
  return Must(cuda::DeviceMemory::Make((memory_info.free_bytes - bytes) / (2 * kMiB) * (2 * kMiB)));
}

TEST_F(CopierTest, ASlabThatLeavesTooLittleToOthersIsRefusedWithTheNumbersAndMadeOnceThereIsRoom) {
  MakeSlab(1, 2 * kMiB);  // creates the context
  SlabOrder order = {.slab = 2, .kind = HandleKind::kVmm, .bytes = 100 * kMiB};
  {
    const cuda::DeviceMemory ballast = TakeAllBut(300 * kMiB);
    copier_->MakeSlab(order);
    const Copier::Done done = Await(1, 0);
    ASSERT_EQ(done.slabs.size(), 1u);
    EXPECT_TRUE(absl::IsResourceExhausted(done.slabs[0].status)) << done.slabs[0].status;
    EXPECT_THAT(
        std::string(done.slabs[0].status.message()),
        AllOf(HasSubstr("batches need 100.0 MiB more"), HasSubstr("256.0 MiB are reserved")));
  }
  order.slab = 3;
  copier_->MakeSlab(order);
  EXPECT_OK(Await(1, 0).slabs.at(0).status);
}

class NoSuchGpuTest : public CopierTest {
 protected:
  cuda::Uuid Gpu() const override { return cuda::Uuid{{1, 2, 3}}; }
};

TEST_F(NoSuchGpuTest, AGpuThatIsNotHereIsSaidWithEachSlabAndNothingIsLost) {
  for (uint32_t slab : {1, 2}) {
    copier_->MakeSlab({.slab = slab, .kind = HandleKind::kIpc, .bytes = 2 * kMiB});
    const Copier::Done done = Await(1, 0);

    ASSERT_EQ(done.slabs.size(), 1u);
    EXPECT_EQ(done.slabs[0].slab, slab);
    EXPECT_EQ(done.slabs[0].status.code(), absl::StatusCode::kNotFound);
  }
  EXPECT_OK(copier_->status());
}

TEST_F(CopierTest, MoreMemoryThanTheGpuHasIsRefusedAndItServesOthers) {
  copier_->MakeSlab({.slab = 1, .kind = HandleKind::kIpc, .bytes = uint64_t{1} << 42});
  EXPECT_EQ(Await(1, 0).slabs.at(0).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_OK(copier_->status());

  MakeSlab(2, 2 * kMiB);
}

TEST_F(CopierTest, AFreshSlabShowsItsCanaryAndNothingElse) {
  const cuda::ImportedSlab slab = MakeSlab(1, 6 * kMiB);

  const std::vector<std::byte> bytes = Must(gpu::ReadBack(slab.data(), slab.bytes()));
  const std::span all(bytes);
  const uint64_t canary = slab.bytes() - kCanaryHeadroom;

  EXPECT_TRUE(AllAre(std::byte{0}, all.first(canary)));
  EXPECT_TRUE(AllAre(std::byte{0x5C}, all.subspan(canary, sizeof(Canary))));
}

TEST_F(CopierTest, AnIpcHandleComesWithTheSlab) {
  copier_->MakeSlab({.slab = 1, .kind = HandleKind::kIpc, .bytes = 2 * kMiB});

  EXPECT_NE(Await(1, 0).slabs.at(0).ipc, cuda::IpcHandle());
}

TEST_F(CopierTest, CopiesArriveWholeAndInOrderAlsoFromASegmentThatIsClosedBehindThem) {
  const cuda::ImportedSlab slab = MakeSlab(1, 64 * kMiB);
  const posix::Mapping segment = MakeSegment(7, 32 * kMiB);
  std::vector<uint64_t> expected;
  for (uint64_t id = 1; id <= 31; ++id) {
    copier_->Copy({.id = id,
                   .segment = 7,
                   .offset = (31 - id) * kMiB,
                   .slab = 1,
                   .slab_offset = id * kMiB,
                   .bytes = kMiB});
    expected.push_back(id);
  }
  copier_->CloseSegment(7);

  EXPECT_EQ(Await(0, 31).copies, expected);

  const std::vector<std::byte> bytes = Must(gpu::ReadBack(slab.data(), 32 * kMiB));
  for (uint64_t id = 1; id <= 31; ++id)
    EXPECT_EQ(std::memcmp(bytes.data() + id * kMiB, segment.data() + (31 - id) * kMiB, kMiB), 0)
        << id;
}

TEST_F(CopierTest, PoisonCoversExactlyItsSlot) {
  const cuda::ImportedSlab slab = MakeSlab(1, 8 * kMiB);
  const posix::Mapping segment = MakeSegment(7, kMiB);
  copier_->Poison(1, kMiB, 3 * kMiB);
  copier_->Copy({.id = 1, .segment = 7, .slab = 1, .slab_offset = 0, .bytes = kMiB});
  ASSERT_EQ(Await(0, 1).copies.size(), 1u);

  const std::vector<std::byte> bytes = Must(gpu::ReadBack(slab.data(), 5 * kMiB));

  EXPECT_EQ(std::memcmp(bytes.data(), segment.data(), kMiB), 0);
  EXPECT_TRUE(AllAre(kPoison, std::span(bytes).subspan(kMiB, 3 * kMiB)));
  EXPECT_TRUE(AllAre(std::byte{0}, std::span(bytes).last(kMiB)));
}

TEST_F(CopierTest, ItsEndDropsWhatWasNotBegun) {
  MakeSlab(1, 64 * kMiB);
  const posix::Mapping segment = MakeSegment(7, 32 * kMiB);
  for (uint64_t id = 1; id <= 200; ++id)
    copier_->Copy({.id = id, .segment = 7, .slab = 1, .bytes = 32 * kMiB});

  const auto start = steady_clock::now();
  copier_.reset();

  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(2));
}

// Measures the highest rate that a feed can reach, compared with the machine's own.
TEST_F(CopierTest, BatchesAreCopiedNearlyAsFastAsTheMachineCan) {
  constexpr uint64_t kBytes = 38'535'168;  // 256 photographs of 224 × 224, and their labels
  constexpr int kCopies = 100;
  const cuda::ImportedSlab slab = MakeSlab(1, 128 * kMiB);
  const posix::Mapping segment = MakeSegment(7, 40 * kMiB);

  const cuda::DeviceMemory plain = Must(cuda::DeviceMemory::Make(kBytes));
  const posix::Fd memory = Must(posix::MakeMemory("plain", 40 * kMiB));
  const posix::Mapping host =
      Must(posix::Mapping::Map(memory, 40 * kMiB, posix::Access::kReadWrite));
  std::memset(host.data(), 1, host.size());
  const cuda::Registration registration = Must(cuda::Registration::Make(
      host.data(), host.size(), cuda::Registration::HostAccess::kReadWrite));
  const cuda::Stream stream = Must(cuda::Stream::Make());

  double best_plain = 1e9, best_copier = 1e9;
  for (int round = 0; round < 4; ++round) {
    const auto start = steady_clock::now();
    for (int i = 0; i < kCopies; ++i)
      ASSERT_OK(cuda::CopyToDevice(plain.data(), host.data(), kBytes, stream.get()));
    ASSERT_OK(cuda::SynchronizeDevice());
    const auto middle = steady_clock::now();
    for (uint64_t id = 1; id <= kCopies; ++id)
      copier_->Copy(
          {.id = id, .segment = 7, .slab = 1, .slab_offset = id % 3 * kBytes, .bytes = kBytes});
    ASSERT_EQ(Await(0, kCopies).copies.size(), size_t{kCopies});
    const auto end = steady_clock::now();
    best_plain = std::min(best_plain, std::chrono::duration<double>(middle - start).count());
    best_copier = std::min(best_copier, std::chrono::duration<double>(end - middle).count());
  }

  const double plain_rate = kCopies * kBytes / best_plain / 1e9;
  const double copier_rate = kCopies * kBytes / best_copier / 1e9;
  std::printf("copier: %.1f GB/s of %.1f GB/s plain pinned (%.3f)\n", copier_rate, plain_rate,
              copier_rate / plain_rate);
  EXPECT_GE(copier_rate / plain_rate, 0.95);
}

}  // namespace
}  // namespace penstock::exporting
