// Without a usable CUDA, in a build with or without it, every call reports the same reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/cuda/device.h"
#include "common/cuda/registration.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"

namespace penstock::cuda {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class WithoutGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    why_ = Usable();
    if (why_.ok()) GTEST_SKIP() << "this machine has a GPU";
  }

  absl::Status why_;
};

TEST_F(WithoutGpuTest, TheReasonIsTypedAndSaysWhatToDo) {
  EXPECT_EQ(why_.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(why_.message()),
      AnyOf(HasSubstr("this build has no CUDA; build with"),
            HasSubstr("this machine has no NVIDIA driver"), HasSubstr("this build needs CUDA"),
            HasSubstr("no GPU is visible here"), HasSubstr("check whether nvidia-smi works here")));
}

TEST_F(WithoutGpuTest, GpusCannotBeListedFoundOrMadeCurrent) {
  EXPECT_EQ(Devices().status(), why_);
  EXPECT_EQ(FindDevice({}).status(), why_);
  EXPECT_EQ(CurrentDevice().status(), why_);
  EXPECT_EQ(DeviceScope(0).status(), why_);
}

TEST_F(WithoutGpuTest, NoMemoryIsAllocatedOpenedOrRegistered) {
  alignas(4096) static std::byte page[4096];

  EXPECT_EQ(Slab::Make(HandleKind::kIpc, kSlabGranule).status(), why_);
  EXPECT_EQ(Slab::Make(HandleKind::kVmm, kSlabGranule).status(), why_);
  EXPECT_EQ(ImportedSlab::OpenIpc({}, kSlabGranule).status(), why_);
  EXPECT_EQ(ImportedSlab::OpenVmm({}, kSlabGranule).status(), why_);
  EXPECT_EQ(DeviceMemory::Make(1).status(), why_);
  EXPECT_EQ(PinnedMemory::Make(1).status(), why_);
  EXPECT_EQ(Registration::Make(page, sizeof(page), Registration::HostAccess::kReadWrite).status(),
            why_);
}

TEST_F(WithoutGpuTest, StreamsFailInsteadOfPretending) {
  std::byte from{1}, to{2};

  EXPECT_FALSE(Stream::Make().ok());
  EXPECT_FALSE(Event::Make().ok());
  EXPECT_FALSE(Stopwatch::Make().ok());
  EXPECT_FALSE(CopyToDevice(&to, &from, 1, nullptr).ok());
  EXPECT_FALSE(CopyOnDevice(&to, &from, 1, nullptr).ok());
  EXPECT_FALSE(CopyToHost(&to, &from, 1, nullptr).ok());
  EXPECT_FALSE(SynchronizeDevice().ok());
  EXPECT_EQ(to, std::byte{2});
}

TEST_F(WithoutGpuTest, OwnersOfNothingMoveAndGo) {
  Slab slab, other = std::move(slab);
  other = Slab();
  ImportedSlab imported;
  imported = ImportedSlab();
  DeviceMemory memory;
  memory = DeviceMemory();
  Registration registration;
  registration = Registration();

  EXPECT_EQ(other.data(), nullptr);
  EXPECT_EQ(imported.bytes(), 0u);
  EXPECT_EQ(memory.bytes(), 0u);
  EXPECT_EQ(registration.bytes(), 0u);
}

}  // namespace
}  // namespace penstock::cuda
