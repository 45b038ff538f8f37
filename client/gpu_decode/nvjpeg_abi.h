// The part of nvJPEG's interface that is used here, as in its header nvjpeg.h of versions 12 and
// 13. Declared here so that building needs neither the library nor its header;
// tests/gpu/decode/abi_test.cc compares both where the header is installed.
#pragma once

#include <cstddef>

namespace penstock::gpu_decode::nvjpeg {

using Handle = struct HandleTag*;
using State = struct StateTag*;
using Bitstream = struct BitstreamTag*;  // nvjpegJpegStream_t

enum Code : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidParameter = 2,
  kBadJpeg = 3,
  kJpegNotSupported = 4,
  kAllocatorFailure = 5,
  kExecutionFailed = 6,
  kArchMismatch = 7,
  kInternalError = 8,
  kImplementationNotSupported = 9,
  kIncompleteBitstream = 10,
};

enum Backend : int { kGpuHybrid = 2, kHardware = 3 };
enum Flags : unsigned int { kNoFlags = 0, kInterpolatedUpsampling = 1u << 5 };
enum OutputFormat : int { kRgbInterleaved = 5 };
enum Property : int { kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2 };

struct Image {
  unsigned char* channel[4];
  size_t pitch[4];
};

struct DeviceMemoryCalls {
  int (*allocate)(void* context, void** memory, size_t bytes, void* stream);
  int (*release)(void* context, void* memory, size_t bytes, void* stream);
  void* context;
};

// For pinned host memory. `create` takes both kinds or refuses with kInvalidParameter.
using PinnedMemoryCalls = DeviceMemoryCalls;

struct Calls {
  Code (*get_property)(Property property, int* value);
  Code (*create)(Backend backend, DeviceMemoryCalls* device, PinnedMemoryCalls* pinned,
                 unsigned int flags, Handle* handle);
  Code (*destroy)(Handle handle);
  Code (*create_state)(Handle handle, State* state);
  Code (*destroy_state)(State state);
  Code (*create_bitstream)(Handle handle, Bitstream* bitstream);
  Code (*destroy_bitstream)(Bitstream bitstream);
  Code (*parse_header)(Handle handle, const unsigned char* data, size_t bytes, Bitstream bitstream);
  Code (*frame_dimensions)(Bitstream bitstream, unsigned int* width, unsigned int* height);
  Code (*batched_supported)(Handle handle, Bitstream bitstream, int* unsupported);  // 0: supported
  Code (*initialize_batched)(Handle handle, State state, int images, int max_cpu_threads,
                             OutputFormat format);
  Code (*decode_batched)(Handle handle, State state, const unsigned char* const* data,
                         const size_t* bytes, Image* images, void* stream);
};

// NVJPEG_STATUS_… in words.
const char* ToText(Code code);

}  // namespace penstock::gpu_decode::nvjpeg
