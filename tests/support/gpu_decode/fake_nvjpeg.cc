// A shared library with the functions of nvJPEG that we use. Device memory is host memory.
#include "tests/support/gpu_decode/fake_nvjpeg.h"

#include <atomic>
#include <cstring>
#include <thread>

#include "client/gpu_decode/nvjpeg_abi.h"
#include "common/cuda/registration.h"

namespace {

using namespace penstock::gpu_decode::nvjpeg;
using penstock::testing::FakeFault;
using penstock::testing::FakeHeader;
using penstock::testing::FakeValue;

constexpr size_t kStateBytes = 1 << 20;  // of device memory
constexpr size_t kPinnedBytes = 1 << 16;
constexpr uint32_t kBlockSide = 8;

struct FakeDecoder {
  DeviceMemoryCalls memory;
  PinnedMemoryCalls pinned_calls;
  void* pinned = nullptr;
  bool spoiled = false;
};

struct FakeState {
  FakeDecoder* decoder;
  void* memory;
  int images = 0;
  std::atomic<bool> busy = false;  // a state may be in one call at a time
};

struct FakeBitstream {
  FakeHeader header;
};

bool IsJpeg(const unsigned char* data, size_t bytes) {
  return bytes > penstock::testing::kBeforeFakeFile && data[0] == 0xFF && data[1] == 0xD8;
}

// CUDA refuses to copy such a file, as if all memory were registered.
bool IsAcrossBorder(const unsigned char* data, size_t bytes) {
  const auto* const file = reinterpret_cast<const std::byte*>(data);
  return penstock::cuda::ToRegistrationBorder(file, bytes) < bytes;
}

bool Read(const unsigned char* data, size_t bytes, FakeHeader& header) {
  if (IsJpeg(data, bytes)) {
    data += penstock::testing::kBeforeFakeFile;
    bytes -= penstock::testing::kBeforeFakeFile;
  }
  if (bytes < sizeof header) return false;
  memcpy(&header, data, sizeof header);
  return memcmp(header.magic, "FAKE", 4) == 0 && header.fault != FakeFault::kBadHeader;
}

void Write(const FakeHeader& header, const Image& image, uint32_t rows) {
  for (uint32_t y = 0; y < rows; ++y) {
    unsigned char* const row = image.channel[0] + y * image.pitch[0];
    for (uint32_t x = 0; x < 3 * header.width; ++x) row[x] = FakeValue(header.seed, y, x);
  }
}

// Decodes one image of a call.
Code DecodeOne(FakeDecoder& decoder, const FakeHeader& header, const Image& image, int images) {
  switch (header.fault) {
    case FakeFault::kFailsCall:
      return kBadJpeg;
    case FakeFault::kSpoilsDecoder:
      decoder.spoiled = true;
      return kExecutionFailed;
    case FakeFault::kLeftOut:
      return kSuccess;
    case FakeFault::kEndsEarly:
      Write(header, image, (header.height - 1) / kBlockSide * kBlockSide);
      return kSuccess;
    case FakeFault::kLeftOutAmongOthers:
      if (images == 1) Write(header, image, header.height);
      return kSuccess;
    default:
      Write(header, image, header.height);
      return kSuccess;
  }
}

Code DecodeAll(FakeDecoder& decoder, const FakeState& state, const unsigned char* const* data,
               const size_t* bytes, const Image* images) {
  Code last = kSuccess;
  for (int i = 0; i < state.images; ++i) {
    FakeHeader header;
    if (!Read(data[i], bytes[i], header)) {
      if (IsJpeg(data[i], bytes[i])) continue;  // the decoder adds some to fill up its calls
      return kBadJpeg;
    }
    if (IsAcrossBorder(data[i], bytes[i])) return kExecutionFailed;
    if (header.fault == FakeFault::kFailsCallAfter) last = kInternalError;
    if (const Code code = DecodeOne(decoder, header, images[i], state.images)) return code;
  }
  return last;
}

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT Code nvjpegGetProperty(Property property, int* value) {
  *value = property == kMajorVersion ? 99 : property == kMinorVersion ? 1 : 2;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegCreateExV2(Backend backend, DeviceMemoryCalls* device,
                                  PinnedMemoryCalls* pinned, unsigned int, FakeDecoder** handle) {
  if (backend != kHardware) return kArchMismatch;
  if (device == nullptr || pinned == nullptr) return kInvalidParameter;  // as nvJPEG does
  *handle = new FakeDecoder{*device, *pinned};
  pinned->allocate(pinned->context, &(*handle)->pinned, kPinnedBytes, nullptr);
  return (*handle)->pinned != nullptr ? kSuccess : kAllocatorFailure;
}

FAKE_EXPORT Code nvjpegDestroy(FakeDecoder* handle) {
  const PinnedMemoryCalls& pinned = handle->pinned_calls;
  pinned.release(pinned.context, handle->pinned, kPinnedBytes, nullptr);
  delete handle;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegJpegStateCreate(FakeDecoder* handle, FakeState** state) {
  void* memory = nullptr;
  if (handle->memory.allocate(handle->memory.context, &memory, kStateBytes, nullptr) != 0) {
    return kAllocatorFailure;
  }
  *state = new FakeState{.decoder = handle, .memory = memory};
  return kSuccess;
}

FAKE_EXPORT Code nvjpegJpegStateDestroy(FakeState* state) {
  const DeviceMemoryCalls& memory = state->decoder->memory;
  memory.release(memory.context, state->memory, kStateBytes, nullptr);
  delete state;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegJpegStreamCreate(FakeDecoder*, FakeBitstream** bitstream) {
  *bitstream = new FakeBitstream;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegJpegStreamDestroy(FakeBitstream* bitstream) {
  delete bitstream;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegJpegStreamParseHeader(FakeDecoder*, const unsigned char* data, size_t bytes,
                                             FakeBitstream* bitstream) {
  return Read(data, bytes, bitstream->header) ? kSuccess : kBadJpeg;
}

FAKE_EXPORT Code nvjpegJpegStreamGetFrameDimensions(FakeBitstream* bitstream, unsigned int* width,
                                                    unsigned int* height) {
  *width = bitstream->header.width;
  *height = bitstream->header.height;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegDecodeBatchedSupported(FakeDecoder*, FakeBitstream* bitstream,
                                              int* unsupported) {
  *unsupported = bitstream->header.fault == FakeFault::kUnsupported ? 1 : 0;
  return kSuccess;
}

FAKE_EXPORT Code nvjpegDecodeBatchedInitialize(FakeDecoder*, FakeState* state, int images, int,
                                               OutputFormat format) {
  state->images = images;
  return format == kRgbInterleaved ? kSuccess : kInvalidParameter;
}

FAKE_EXPORT Code nvjpegDecodeBatched(FakeDecoder* handle, FakeState* state,
                                     const unsigned char* const* data, const size_t* bytes,
                                     Image* images, void*) {
  if (handle->spoiled || state->busy.exchange(true)) return kExecutionFailed;
  std::this_thread::yield();
  const Code code = DecodeAll(*handle, *state, data, bytes, images);
  state->busy = false;
  return code;
}
