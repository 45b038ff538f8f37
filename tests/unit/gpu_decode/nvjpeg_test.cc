#include "client/gpu_decode/nvjpeg.h"

#include <gtest/gtest.h>

namespace penstock::gpu_decode {
namespace {

TEST(NvjpegTest, LoadsTheLibraryAtAPathAndTellsItsVersion) {
  const auto loaded = NvjpegLibrary::Load(FAKE_NVJPEG);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->version, "99.1.2");
  EXPECT_NE(loaded->calls.decode_batched, nullptr);
}

TEST(NvjpegTest, SaysWhatWasTriedAndWhatToInstall) {
  const absl::Status status = NvjpegLibrary::Load("/nowhere/libnvjpeg.so").status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("/nowhere/libnvjpeg.so"), std::string::npos) << status;
  EXPECT_NE(status.message().find("nvidia-nvjpeg"), std::string::npos) << status;
}

TEST(NvjpegTest, NamesAFunctionThatAnotherLibraryLacks) {
  const absl::Status status = NvjpegLibrary::Load("libc.so.6").status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("nvjpegGetProperty"), std::string::npos) << status;
}

}  // namespace
}  // namespace penstock::gpu_decode
