#include "common/cuda/device.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "client/finish/on_device.h"
#include "tests/gpu/gpu.h"

namespace penstock::cuda {
namespace {

using gpu::Must;
using ::testing::HasSubstr;

TEST(DeviceTest, AGpuThatIsNotHereIsNotFoundAndThoseThatAreAreNamed) {
  const absl::Status status = FindDevice({}).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Must(Devices())[0].uuid.ToString()));
}

TEST(DeviceTest, EveryGpuIsFoundByItsUuid) {
  for (const Device& device : Must(Devices())) {
    EXPECT_EQ(Must(FindDevice(device.uuid)).ordinal, device.ordinal);
    EXPECT_GT(device.memory_bytes, uint64_t{1} << 30);
    EXPECT_FALSE(device.name.empty());
    std::printf("GPU %d: %s, %s, stream memory operations %s, descriptors %s, NUMA node %d\n",
                device.ordinal, device.name.c_str(), device.uuid.ToString().c_str(),
                device.stream_memory_ops ? "yes" : "no", device.vmm_descriptors ? "yes" : "no",
                device.numa_node);
  }
}

TEST(DeviceScopeTest, AnOrdinalThatIsNotThereIsAnError) {
  EXPECT_FALSE(DeviceScope(-1).status().ok());
  EXPECT_FALSE(DeviceScope(200).status().ok());
}

TEST(DeviceScopeTest, EveryDeviceIsCurrentInItsScopeAndNotAfterwards) {
  const int before = Must(CurrentDevice());
  for (const Device& device : Must(Devices())) {
    {
      const DeviceScope scope(device.ordinal);
      ASSERT_OK(scope.status());
      EXPECT_EQ(Must(CurrentDevice()), device.ordinal);
      EXPECT_OK(DeviceMemory::Make(4096).status());
    }
    EXPECT_EQ(Must(CurrentDevice()), before);
  }
}

TEST(DeviceScopeTest, AThreadThatNeverUsedCudaMayFreeWhatAnotherMade) {
  auto memory = Must(DeviceMemory::Make(4096));
  auto slab = Must(Slab::Make(HandleKind::kVmm, kSlabGranule));

  std::thread([memory = std::move(memory), slab = std::move(slab)] {}).join();

  EXPECT_OK(SynchronizeDevice());
}

TEST(ErrorsTest, AFailureLeavesNoPendingErrorBehind) {
  ASSERT_FALSE(ImportedSlab::OpenIpc({}, kSlabGranule).ok());
  ASSERT_FALSE(DeviceMemory::Make(uint64_t{1} << 50).ok());

  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(ErrorsTest, AnErrorThatSomebodyElseLeftStaysTheirs) {
  auto memory = Must(DeviceMemory::Make(4096));
  ASSERT_EQ(cudaSetDevice(9999), cudaErrorInvalidDevice);

  const auto* rows = reinterpret_cast<const uint8_t*>(memory.data());
  EXPECT_OK(finish::ApplyOnDevice({.type = Type::kUInt8}, {1, 16, 16, 1}, {rows, 256}, {},
                                  {memory.data() + 1024, 256}, {}, nullptr));

  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_OK(SynchronizeDevice());
}

TEST(ErrorsTest, AnIllegalAccessIsStickyInTheProcessThatDidIt) {
  EXPECT_EQ(gpu::RunPeer({"break"}), gpu::kPeerFine);

  EXPECT_OK(SynchronizeDevice());
}

}  // namespace
}  // namespace penstock::cuda
