#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/escaping.h"
#include "common/posix/memory.h"
#include "tests/gpu/gpu.h"

namespace penstock::cuda {
namespace {

using gpu::Must;
using gpu::RunPeer;
using ::testing::HasSubstr;

constexpr uint64_t kSlabBytes = 3 * kSlabGranule;
constexpr uint32_t kSeed = 17;

std::string Hex(const IpcHandle& handle) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(handle.data()), handle.size()));
}

int OpenInPeer(const Slab& slab, uint64_t bytes, uint32_t seed) {
  if (slab.kind() == HandleKind::kIpc) {
    return RunPeer({"ipc", absl::StrCat(bytes), absl::StrCat(seed), Hex(slab.ipc_handle())});
  }
  return RunPeer({"vmm", absl::StrCat(bytes), absl::StrCat(seed)}, slab.descriptor().get());
}

class SlabTest : public ::testing::TestWithParam<HandleKind> {};

TEST_P(SlabTest, ASizeThatIsNoMultipleOfTheGranuleIsRefused) {
  EXPECT_EQ(Slab::Make(GetParam(), kSlabGranule + 4096).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(SlabTest, MoreThanTheGpuHasIsRefusedAsNoRoom) {
  EXPECT_EQ(Slab::Make(GetParam(), uint64_t{1} << 42).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_P(SlabTest, APeerThatIsToldAWrongSizeDoesNotOpenIt) {
  const Slab slab = Must(Slab::Make(GetParam(), kSlabBytes));

  EXPECT_EQ(OpenInPeer(slab, 2 * kSlabBytes, kSeed), gpu::kPeerCannotOpen);
}

TEST_P(SlabTest, APeerSeesItsBytes) {
  const Slab slab = Must(Slab::Make(GetParam(), kSlabBytes));
  gpu::Mark(slab, kSeed);

  EXPECT_EQ(OpenInPeer(slab, kSlabBytes, kSeed), gpu::kPeerFine);
  EXPECT_EQ(OpenInPeer(slab, kSlabBytes, kSeed + 1), gpu::kPeerWrongBytes);
}

TEST_P(SlabTest, ItMovesWithItsHandle) {
  Slab made = Must(Slab::Make(GetParam(), kSlabBytes));
  gpu::Mark(made, kSeed);

  const Slab slab = std::move(made);

  EXPECT_EQ(OpenInPeer(slab, kSlabBytes, kSeed), gpu::kPeerFine);
}

TEST_P(SlabTest, MakingAndFreeingManyLeavesRoom) {
  for (int i = 0; i < 300; ++i) {
    ASSERT_OK(Slab::Make(GetParam(), uint64_t{1} << 30).status()) << "slab " << i;
  }
}

std::string KindName(const ::testing::TestParamInfo<HandleKind>& info) {
  return info.param == HandleKind::kIpc ? "Ipc" : "Vmm";
}

INSTANTIATE_TEST_SUITE_P(Kinds, SlabTest, ::testing::Values(HandleKind::kIpc, HandleKind::kVmm),
                         KindName);

TEST(IpcSlabTest, TheExportingProcessItselfCannotOpenItAndIsToldWhy) {
  const Slab slab = Must(Slab::Make(HandleKind::kIpc, kSlabBytes));

  const absl::Status status = ImportedSlab::OpenIpc(slab.ipc_handle(), kSlabBytes).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ask for VMM handles"));
}

TEST(IpcSlabTest, BytesThatAreNoHandleAreRefused) {
  EXPECT_FALSE(ImportedSlab::OpenIpc({}, kSlabBytes).ok());
}

TEST(VmmSlabTest, TheExportingProcessItselfCanOpenIt) {
  const Slab slab = Must(Slab::Make(HandleKind::kVmm, kSlabBytes));
  gpu::Mark(slab, kSeed);

  const ImportedSlab opened = Must(ImportedSlab::OpenVmm(slab.descriptor(), kSlabBytes));

  EXPECT_NE(opened.data(), slab.data());
  EXPECT_EQ(Must(gpu::ReadBack(opened.data(), gpu::kPatternBytes)),
            gpu::Pattern(gpu::kPatternBytes, kSeed));
}

TEST(VmmSlabTest, ADescriptorOfSomethingElseIsRefused) {
  const posix::Fd memory = Must(posix::MakeMemory("no-slab", kSlabBytes));

  EXPECT_EQ(ImportedSlab::OpenVmm(memory, kSlabBytes).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(VmmSlabTest, WhatIsOpenStaysWhenItsMakerFreesIt) {
  ImportedSlab opened;
  {
    const Slab slab = Must(Slab::Make(HandleKind::kVmm, kSlabBytes));
    gpu::Mark(slab, kSeed);
    opened = Must(ImportedSlab::OpenVmm(slab.descriptor(), kSlabBytes));
  }

  EXPECT_EQ(Must(gpu::ReadBack(opened.data(), gpu::kPatternBytes)),
            gpu::Pattern(gpu::kPatternBytes, kSeed));
}

TEST(VmmSlabTest, APeerThatWritesIntoItHurtsItselfAlone) {
  const Slab slab = Must(Slab::Make(HandleKind::kVmm, kSlabBytes));
  gpu::Mark(slab, kSeed);

  EXPECT_EQ(RunPeer({"write", absl::StrCat(kSlabBytes), "0"}, slab.descriptor().get()),
            gpu::kPeerFine);

  EXPECT_EQ(Must(gpu::ReadBack(slab.data(), gpu::kPatternBytes)),
            gpu::Pattern(gpu::kPatternBytes, kSeed));
}

}  // namespace
}  // namespace penstock::cuda
