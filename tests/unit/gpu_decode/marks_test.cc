// The marks that tell whether a decoder has written an image, with the kernels' source run on the
// CPU.
#include "client/gpu_decode/marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/support/gpu_decode/emulated_device.h"

namespace penstock::gpu_decode {
namespace {

class MarksTest : public ::testing::Test {
 protected:
  // Makes the image's memory, with bytes around its rows that must stay.
  void Prepare(uint32_t width, uint32_t height) {
    const uint64_t pitch = uint64_t{3} * width + 5;
    memory_.assign(pitch * height, 0x11);
    image_ = {memory_.data(), pitch, width, height};
    launch_ = {.images = &image_, .unwritten = &unwritten_, .count = 1, .nonce = 77};
    ASSERT_TRUE(device_->SetMarks(launch_).ok());
    ASSERT_TRUE(device_->Synchronize().ok());
  }

  uint32_t Count() {
    unwritten_ = 0;
    EXPECT_TRUE(device_->CountMarks(launch_).ok());
    EXPECT_TRUE(device_->Synchronize().ok());
    return unwritten_;
  }

  void WritePart(uint32_t column, uint32_t row) {
    const uint32_t left = column * kMarkedSide, top = row * kMarkedSide;
    for (uint32_t y = top; y < std::min(image_.height, top + kMarkedSide); ++y) {
      const uint32_t end = std::min(image_.width, left + kMarkedSide);
      memset(image_.pixels + y * image_.pitch + size_t{3} * left, 0, (end - left) * size_t{3});
    }
  }

  testing::DeviceLog log_;
  std::unique_ptr<DecodeDevice> device_ = testing::MakeEmulatedDevice(log_);
  std::vector<uint8_t> memory_;
  MarkedImage image_;
  MarksLaunch launch_;
  uint32_t unwritten_ = 9;
};

TEST_F(MarksTest, EveryPartHasOneAndWritingAPartRemovesIt) {
  Prepare(500, 310);
  EXPECT_EQ(unwritten_, 0u);  // set to zero with the marks
  EXPECT_EQ(Count(), MarksIn(500, 310));
  for (uint32_t part = 0; part < 40; ++part) {
    WritePart(part % 8, part / 8);
    EXPECT_EQ(Count(), 39 - part);
  }
}

TEST_F(MarksTest, StayWithinTheImageOfAnySize) {
  for (const uint32_t width : {1u, 2u, 3u, 63u, 64u, 65u, 66u, 200u}) {
    for (const uint32_t height : {1u, 63u, 64u, 65u}) {
      Prepare(width, height);
      EXPECT_EQ(Count(), MarksIn(width, height));
      for (uint32_t y = 0; y < height; ++y) {
        const uint8_t* const behind = image_.pixels + y * image_.pitch + size_t{3} * width;
        EXPECT_EQ(std::count(behind, behind + 5, 0x11), 5) << width << ' ' << height;
        memset(image_.pixels + y * image_.pitch, 0, size_t{3} * width);
      }
      EXPECT_EQ(Count(), 0u) << width << ' ' << height;
    }
  }
}

TEST_F(MarksTest, ThoseOfAnotherAttemptDoNotCount) {
  Prepare(64, 40);
  launch_.nonce = 78;
  EXPECT_EQ(Count(), 0u);
}

}  // namespace
}  // namespace penstock::gpu_decode
