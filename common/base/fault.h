// Why a sample could not be used: the daemon's own words, one closed list from the codec to the
// client. What a codec itself said never leaves the worker.
//
// FactsOf is the one table of them: what each is called, who may report it, and what follows. A
// fault that is missing there does not compile.
#pragma once

#include <cstdint>
#include <optional>

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

// Whose finding it is. A worker that reports what only the daemon can find is broken, or lies.
enum class FaultFinder { kDecoder, kDaemon };

enum class FaultFollows {
  kNothing,        // there is no fault
  kReplaced,       // another sample stands in, and it is reported: for every feed of the dataset
  kTriedOnceMore,  // on a fresh worker; the second time it is quarantined
  kThisFeedAlone,  // replaced; it is of a field that this feed asks for, and others may not
};

struct FaultFacts {
  absl::string_view name;  // "truncated", "too many pixels", …
  FaultFinder finder;
  FaultFollows follows;
};

// Nothing for a number that is no fault: whoever read it from outside refuses it.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"  // no `default` below: each new fault must say its facts
constexpr std::optional<FaultFacts> FactsOf(Fault fault) {
  using enum FaultFinder;
  using enum FaultFollows;
  switch (fault) {
    case Fault::kNone:
      return FaultFacts{"none", kDecoder, kNothing};
    case Fault::kEmpty:
      return FaultFacts{"empty", kDecoder, kReplaced};
    case Fault::kNotAnImage:
      return FaultFacts{"not an image", kDecoder, kReplaced};
    case Fault::kUnsupported:
      return FaultFacts{"unsupported kind", kDecoder, kReplaced};
    case Fault::kTruncated:
      return FaultFacts{"truncated", kDecoder, kReplaced};
    case Fault::kCorrupt:
      return FaultFacts{"corrupt", kDecoder, kReplaced};
    case Fault::kTooManyBytes:
      return FaultFacts{"too many bytes", kDecoder, kReplaced};
    case Fault::kTooManyPixels:
      return FaultFacts{"too many pixels", kDecoder, kReplaced};
    case Fault::kTimeout:
      return FaultFacts{"took too long", kDaemon, kTriedOnceMore};
    case Fault::kWorkerCrashed:
      return FaultFacts{"crashed a worker twice", kDaemon, kTriedOnceMore};
    case Fault::kChangedOnDisk:
      return FaultFacts{"changed on disk", kDaemon, kReplaced};
    case Fault::kTooManyScans:
      return FaultFacts{"too many scans", kDecoder, kReplaced};
    case Fault::kTooLong:
      return FaultFacts{"a field is too long", kDaemon, kThisFeedAlone};
    case Fault::kMissing:
      return FaultFacts{"a field is missing", kDaemon, kThisFeedAlone};
    case Fault::kMalformed:
      return FaultFacts{"a field is malformed", kDaemon, kThisFeedAlone};
    case Fault::kBadChecksum:
      return FaultFacts{"its checksum is wrong", kDaemon, kReplaced};
  }
  return std::nullopt;
}
#pragma GCC diagnostic pop

// Whether a worker may report it of a sample; kNone says that the row is written.
constexpr bool IsDecoders(Fault fault) {
  const std::optional<FaultFacts> facts = FactsOf(fault);
  return facts && facts->finder == FaultFinder::kDecoder;
}

// Whether it is of a field that somebody asked for, and not of the sample as such: others may ask
// for less.
constexpr bool IsOfField(Fault fault) {
  const std::optional<FaultFacts> facts = FactsOf(fault);
  return facts && facts->follows == FaultFollows::kThisFeedAlone;
}

// "truncated", "too many pixels", …; "unknown" for a number that is no fault.
constexpr absl::string_view FaultName(Fault fault) {
  const std::optional<FaultFacts> facts = FactsOf(fault);
  return facts ? facts->name : "unknown";
}

}  // namespace penstock::base
