// How "host", "cuda", "cuda:N" and "auto" are interpreted with and without GPUs.
#include "client/src/gpu/device_choice.h"

#include <gmock/gmock.h>

namespace penstock::client {
namespace {

using ::testing::HasSubstr;

class DeviceChoiceTest : public ::testing::Test {
 protected:
  absl::StatusOr<DeviceChoice> Choose(const std::string& device,
                                      Delivery delivery = Delivery::kAuto, uint32_t depth = 3) {
    SessionOptions options;
    options.device = device;
    options.delivery = delivery;
    options.device_depth = depth;
    return ChooseDevice(options, [&]() -> absl::StatusOr<VisibleDevices> {
      ++looks_;
      if (!cuda_.ok()) return cuda_;
      return visible_;
    });
  }
  static cuda::Device Gpu(int ordinal) {
    cuda::Device device;
    device.ordinal = ordinal;
    return device;
  }

  absl::Status cuda_;
  VisibleDevices visible_{{Gpu(0), Gpu(1)}, 1};
  int looks_ = 0;
};

TEST_F(DeviceChoiceTest, WordsThatNameNoDeviceAreRefused) {
  for (const char* word : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0x1", "CUDA"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Choose(word).status())) << word;
  }
  EXPECT_EQ(looks_, 0);
}

TEST_F(DeviceChoiceTest, ADeviceThatIsNotVisibleIsRefusedWithHowManyThereAre) {
  EXPECT_THAT(std::string(Choose("cuda:2").status().message()), HasSubstr("sees 2 GPUs"));
}

TEST_F(DeviceChoiceTest, ContradictionsAreRefused) {
  EXPECT_FALSE(Choose("host", Delivery::kDevice).ok());
  EXPECT_FALSE(Choose("host", Delivery::kPinned).ok());
  EXPECT_FALSE(Choose("cuda", Delivery::kHost).ok());
  EXPECT_FALSE(Choose("cuda", Delivery::kAuto, 17).ok());
}

TEST_F(DeviceChoiceTest, WithoutCudaOnlyAutoGoesOnAndSaysWhy) {
  cuda_ = absl::FailedPreconditionError("no driver; install one");

  EXPECT_THAT(std::string(Choose("cuda").status().message()), HasSubstr("no driver"));
  const absl::StatusOr<DeviceChoice> automatic = Choose("auto");
  ASSERT_TRUE(automatic.ok());
  EXPECT_FALSE(automatic->device);
  EXPECT_EQ(automatic->reason, "no GPU: no driver; install one");
}

TEST_F(DeviceChoiceTest, HostNeverTouchesCuda) {
  EXPECT_FALSE(Choose("host")->device);
  EXPECT_FALSE(Choose("auto", Delivery::kHost)->device);
  EXPECT_EQ(looks_, 0);
}

TEST_F(DeviceChoiceTest, CudaIsTheCurrentDeviceAndANumberIsThatOne) {
  EXPECT_EQ(Choose("cuda")->device->ordinal, 1);
  EXPECT_EQ(Choose("auto")->device->ordinal, 1);
  EXPECT_EQ(Choose("cuda:0")->device->ordinal, 0);
  EXPECT_TRUE(Choose("auto")->or_host);
  EXPECT_FALSE(Choose("cuda")->or_host);
}

}  // namespace
}  // namespace penstock::client
