// Why a sample could not be used: the daemon's own words, one closed list from the codec to the
// client. What a codec itself said never leaves the worker.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock::base {

enum class Fault : uint32_t {
  kNone = 0,
  kEmpty = 1,           // no bytes
  kNotAnImage = 2,      // no kind that is known
  kUnsupported = 3,     // a known kind that is not decoded (yet)
  kTruncated = 4,       // the file ends before its image does
  kCorrupt = 5,         // the codec refused it
  kTooManyBytes = 6,    // limit: bytes of a file
  kTooManyPixels = 7,   // limit: pixels of an image, or the memory that decoding it takes
  kTimeout = 8,         // limit: time for one sample
  kWorkerCrashed = 9,   // two workers died while it was in hand
  kChangedOnDisk = 10,  // size or time differ from the manifest's
  kTooManyScans = 11,   // limit: scans of a JPEG
  kTooLong = 12,        // a field of variable length is longer than asked for
  kMissing = 13,        // lacks a field that is asked for
  kMalformed = 14,      // a field is not what it is said to be: type, shape, number
  kBadChecksum = 15,    // its bytes are not those that were written
};

// Whether it is of a field that somebody asked for, and not of the sample as such: others may ask
// for less.
constexpr bool IsOfField(Fault fault) {
  return fault == Fault::kTooLong || fault == Fault::kMissing || fault == Fault::kMalformed;
}

// "truncated", "too many pixels", …
absl::string_view FaultName(Fault fault);

}  // namespace penstock::base
