// Our declarations of nvJPEG's interface against its own header, where that is installed. Needs no
// GPU.
#include <gtest/gtest.h>

#include "client/gpu_decode/nvjpeg_abi.h"

#if __has_include(<nvjpeg.h>)
#include <nvjpeg.h>

#include <type_traits>

namespace penstock::gpu_decode::nvjpeg {
namespace {

static_assert(static_cast<int>(kSuccess) == NVJPEG_STATUS_SUCCESS);
static_assert(static_cast<int>(kNotInitialized) == NVJPEG_STATUS_NOT_INITIALIZED);
static_assert(static_cast<int>(kInvalidParameter) == NVJPEG_STATUS_INVALID_PARAMETER);
static_assert(static_cast<int>(kBadJpeg) == NVJPEG_STATUS_BAD_JPEG);
static_assert(static_cast<int>(kJpegNotSupported) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED);
static_assert(static_cast<int>(kAllocatorFailure) == NVJPEG_STATUS_ALLOCATOR_FAILURE);
static_assert(static_cast<int>(kExecutionFailed) == NVJPEG_STATUS_EXECUTION_FAILED);
static_assert(static_cast<int>(kArchMismatch) == NVJPEG_STATUS_ARCH_MISMATCH);
static_assert(static_cast<int>(kInternalError) == NVJPEG_STATUS_INTERNAL_ERROR);
static_assert(static_cast<int>(kImplementationNotSupported) ==
              NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED);
static_assert(static_cast<int>(kIncompleteBitstream) == NVJPEG_STATUS_INCOMPLETE_BITSTREAM);
static_assert(static_cast<int>(kGpuHybrid) == NVJPEG_BACKEND_GPU_HYBRID);
static_assert(static_cast<int>(kHardware) == NVJPEG_BACKEND_HARDWARE);
static_assert(static_cast<int>(kInterpolatedUpsampling) ==
              (NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION));
static_assert(static_cast<int>(kRgbInterleaved) == NVJPEG_OUTPUT_RGBI);
static_assert(static_cast<int>(kMajorVersion) == MAJOR_VERSION);
static_assert(static_cast<int>(kPatchLevel) == PATCH_LEVEL);

static_assert(sizeof(Image) == sizeof(nvjpegImage_t));
static_assert(offsetof(Image, channel) == offsetof(nvjpegImage_t, channel));
static_assert(offsetof(Image, pitch) == offsetof(nvjpegImage_t, pitch));
static_assert(sizeof(DeviceMemoryCalls) == sizeof(nvjpegDevAllocatorV2_t));
static_assert(offsetof(DeviceMemoryCalls, release) == offsetof(nvjpegDevAllocatorV2_t, dev_free));
static_assert(offsetof(DeviceMemoryCalls, context) == offsetof(nvjpegDevAllocatorV2_t, dev_ctx));
static_assert(sizeof(PinnedMemoryCalls) == sizeof(nvjpegPinnedAllocatorV2_t));

// The number of parameters and their sizes; types differ in name only.
template <typename Function>
struct Signature;
template <typename Result, typename... Parameters>
struct Signature<Result (*)(Parameters...)> {
  static constexpr bool SizesEqual(auto other) {
    return []<typename R, typename... P>(R (*)(P...)) {
      if constexpr (sizeof...(P) != sizeof...(Parameters)) {
        return false;
      } else {
        return sizeof(R) == sizeof(Result) && ((sizeof(P) == sizeof(Parameters)) && ...);
      }
    }(other);
  }
};
#define EXPECT_SAME_SIGNATURE(member, function) \
  EXPECT_TRUE(Signature<decltype(Calls::member)>::SizesEqual(decltype(&function){}))

TEST(NvjpegAbiTest, FunctionsTakeTheParametersOfTheHeader) {
  EXPECT_SAME_SIGNATURE(get_property, nvjpegGetProperty);
  EXPECT_SAME_SIGNATURE(create, nvjpegCreateExV2);
  EXPECT_SAME_SIGNATURE(destroy, nvjpegDestroy);
  EXPECT_SAME_SIGNATURE(create_state, nvjpegJpegStateCreate);
  EXPECT_SAME_SIGNATURE(destroy_state, nvjpegJpegStateDestroy);
  EXPECT_SAME_SIGNATURE(create_bitstream, nvjpegJpegStreamCreate);
  EXPECT_SAME_SIGNATURE(destroy_bitstream, nvjpegJpegStreamDestroy);
  EXPECT_SAME_SIGNATURE(parse_header, nvjpegJpegStreamParseHeader);
  EXPECT_SAME_SIGNATURE(frame_dimensions, nvjpegJpegStreamGetFrameDimensions);
  EXPECT_SAME_SIGNATURE(batched_supported, nvjpegDecodeBatchedSupported);
  EXPECT_SAME_SIGNATURE(initialize_batched, nvjpegDecodeBatchedInitialize);
  EXPECT_SAME_SIGNATURE(decode_batched, nvjpegDecodeBatched);
}

}  // namespace
}  // namespace penstock::gpu_decode::nvjpeg

#else

TEST(NvjpegAbiTest, FunctionsTakeTheParametersOfTheHeader) {
  GTEST_SKIP() << "this machine has no nvjpeg.h to compare with";
}

#endif
