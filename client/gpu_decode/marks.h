// Marks that tell whether a decoder has written an image. Before it is decoded, 8 bytes in each
// part of 64 × 64 pixels get a pattern that depends on their place, the image and a nonce. If any
// of them still holds it afterwards, the decoder left that part out: real pixels equal 64 bits of a
// pattern by chance once in centuries. Includes no CUDA header.
#pragma once

#include <cstdint>

namespace penstock::gpu_decode {

// A decoded image, or one that is to be decoded.
struct MarkedImage {
  uint8_t* pixels = nullptr;  // RGB
  uint64_t pitch = 0;
  uint32_t width = 0;
  uint32_t height = 0;
};

struct MarksLaunch {
  const MarkedImage* images = nullptr;  // in device memory
  uint32_t* unwritten = nullptr;        // in device memory: the number of marks left, by image
  uint32_t count = 0;
  uint32_t nonce = 0;
  void* stream = nullptr;
};

inline constexpr uint32_t kMarkedSide = 64;  // of a part, in pixels

// Marks in an image: one in each part.
constexpr uint64_t MarksIn(uint32_t width, uint32_t height) {
  const auto parts = [](uint64_t side) { return (side + kMarkedSide - 1) / kMarkedSide; };
  return parts(width) * parts(height);
}

// Each enqueues one launch, and returns a cudaError_t. LaunchSetMarks also sets `unwritten` to
// zero.
int LaunchSetMarks(const MarksLaunch& launch);
int LaunchCountMarks(const MarksLaunch& launch);

}  // namespace penstock::gpu_decode
