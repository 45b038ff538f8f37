// Which JPEG files the JPEG engines of a GPU decode, told from the header alone. The worker that
// reads a file's header and the client that hands files to the engines use the same rule, so that a
// sample always takes the same path. Pure.
//
// The rule is deliberately narrower than the engines, because a file that they refuse costs its
// whole call, and the CPU takes whatever is left. What is known: nvJPEG's header says
// "NVJPEG_BACKEND_HARDWARE: supports baseline JPEG bitstream with single scan. 410 and 411
// sub-samplings are not supported" (nvjpeg.h of 12.4 and 13.0). It says nothing about gray files,
// RGB and sizes. tests/gpu/decode prints what a GPU does with each kind.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::jpeg {

// What a JPEG's frame and scan headers say.
struct JpegHeaderFacts {
  uint8_t frame_marker = 0;  // 0xC0: baseline; 0xC1: extended; 0xC2: progressive; …
  uint8_t bits = 0;          // per sample
  uint32_t width = 0;        // in pixels; 0 if a DNL marker is to say it
  uint32_t height = 0;
  uint8_t components = 0;                  // of the frame
  uint8_t components_of_first_scan = 0;    // fewer: the file has several scans
  std::array<uint8_t, 4> horizontal = {};  // sampling factors, by component
  std::array<uint8_t, 4> vertical = {};
  bool ycbcr = false;  // as libjpeg's jpeg_color_space tells: not RGB, CMYK or YCCK
};

enum class EngineVerdict : uint8_t {
  kTaken = 0,
  kNotBaseline = 1,
  kNotEightBits = 2,
  kColors = 3,    // not YCbCr with three components
  kScans = 4,     // several scans
  kSampling = 5,  // not 4:4:4, 4:2:2, 4:2:0 or 4:4:0
  kSize = 6,      // too small, too large, or not in the header
};

// The sides, in pixels, of files that the engines get. nvJPEG documents no limits; these lie within
// those that NVIDIA's video engines report for JPEG: 64 x 64 to 32768 x 16384.
inline constexpr uint32_t kMinEngineSide = 64;
inline constexpr uint32_t kMaxEngineSide = 16384;

constexpr bool HasEngineSampling(const JpegHeaderFacts& facts) {
  for (int chroma : {1, 2}) {
    if (facts.horizontal[chroma] != 1 || facts.vertical[chroma] != 1) return false;
  }
  const int h = facts.horizontal[0], v = facts.vertical[0];
  return (h == 1 || h == 2) && (v == 1 || v == 2);
}

// Odd sizes and restart intervals make no difference.
constexpr EngineVerdict JudgeForEngines(const JpegHeaderFacts& facts) {
  if (facts.frame_marker != 0xC0) return EngineVerdict::kNotBaseline;
  if (facts.bits != 8) return EngineVerdict::kNotEightBits;
  if (facts.components != 3 || !facts.ycbcr) return EngineVerdict::kColors;
  if (facts.components_of_first_scan != 3) return EngineVerdict::kScans;
  if (!HasEngineSampling(facts)) return EngineVerdict::kSampling;
  const uint32_t smaller = facts.width < facts.height ? facts.width : facts.height;
  const uint32_t larger = facts.width < facts.height ? facts.height : facts.width;
  if (smaller < kMinEngineSide || larger > kMaxEngineSide) return EngineVerdict::kSize;
  return EngineVerdict::kTaken;
}

constexpr const char* ToText(EngineVerdict verdict) {
  switch (verdict) {
    case EngineVerdict::kTaken:
      return "taken";
    case EngineVerdict::kNotBaseline:
      return "not a baseline JPEG";
    case EngineVerdict::kNotEightBits:
      return "not 8 bits per sample";
    case EngineVerdict::kColors:
      return "not YCbCr with three components";
    case EngineVerdict::kScans:
      return "several scans";
    case EngineVerdict::kSampling:
      return "chroma sampling is not 4:4:4, 4:2:2, 4:2:0 or 4:4:0";
    case EngineVerdict::kSize:
      return "too small or too large";
  }
  return "unknown";
}

}  // namespace penstock::jpeg
