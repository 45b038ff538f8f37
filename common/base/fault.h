// Why a sample could not be used: one closed list of the daemon's own reasons, shared by everything
// from the codec to the client. A codec's own message never leaves the worker.
//
// FactsOf is the one table of faults: the name of each, who may report it, and what follows from
// it. A fault missing from that table does not compile.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace penstock::base {

enum class Fault : uint32_t {
  kNone = 0,
  kEmpty = 1,           // no bytes
  kNotAnImage = 2,      // of no known format
  kUnsupported = 3,     // a known format that we don't decode (yet)
  kTruncated = 4,       // the file ends before the image does
  kCorrupt = 5,         // the codec rejected it
  kTooManyBytes = 6,    // limit: file size in bytes
  kTooManyPixels = 7,   // limit: pixels of an image, or memory needed to decode it
  kTimeout = 8,         // limit: time per sample
  kWorkerCrashed = 9,   // two workers died while decoding it
  kChangedOnDisk = 10,  // size or modification time differs from the manifest
  kTooManyScans = 11,   // limit: scans in a JPEG
  kTooLong = 12,        // a variable-length field exceeds the requested maximum
  kMissing = 13,        // lacks a requested field
  kMalformed = 14,      // a field's type, shape or number is not what was declared
  kBadChecksum = 15,    // the bytes don't match their checksum
  kForbiddenCall = 16,  // two workers made a system call that their sandbox forbids
  kUnfitSize = 17,      // too small or too large for the feed's transforms
  kNotByGpu = 18,       // a consumer's GPU failed to decode it
};

// Who may detect the fault. A worker that reports a fault only the daemon can detect is broken or
// lying.
enum class FaultFinder { kWorker, kDaemon };

enum class FaultFollows {
  kNothing,   // not a fault
  kReplaced,  // a substitute is delivered and the sample is reported, for every feed of the dataset
  kTriedOnceMore,  // retried on a fresh worker; quarantined the second time
  // replaced in this feed only, because other feeds need not request the field or have the
  // transform
  kThisFeedAlone,
  kDecodedByWorkers,  // reported, and decoded by workers for feeds whose consumer decodes on a GPU
};

struct FaultFacts {
  absl::string_view name;  // "truncated", "too many pixels", …
  FaultFinder finder;
  FaultFollows follows;
};

// The facts of a fault, or nullopt for an unknown number (callers that read it from outside reject
// it).
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"  // no `default` below: every new fault must state its facts
constexpr std::optional<FaultFacts> FactsOf(Fault fault) {
  using enum FaultFinder;
  using enum FaultFollows;
  switch (fault) {
    case Fault::kNone:
      return FaultFacts{"none", kWorker, kNothing};
    case Fault::kEmpty:
      return FaultFacts{"empty", kWorker, kReplaced};
    case Fault::kNotAnImage:
      return FaultFacts{"not an image", kWorker, kReplaced};
    case Fault::kUnsupported:
      return FaultFacts{"unsupported kind", kWorker, kReplaced};
    case Fault::kTruncated:
      return FaultFacts{"truncated", kWorker, kReplaced};
    case Fault::kCorrupt:
      return FaultFacts{"corrupt", kWorker, kReplaced};
    case Fault::kTooManyBytes:
      return FaultFacts{"too many bytes", kWorker, kReplaced};
    case Fault::kTooManyPixels:
      return FaultFacts{"too many pixels", kWorker, kReplaced};
    case Fault::kTimeout:
      return FaultFacts{"took too long", kDaemon, kTriedOnceMore};
    case Fault::kWorkerCrashed:
      return FaultFacts{"crashed a worker twice", kDaemon, kTriedOnceMore};
    case Fault::kChangedOnDisk:
      return FaultFacts{"changed on disk", kDaemon, kReplaced};
    case Fault::kTooManyScans:
      return FaultFacts{"too many scans", kWorker, kReplaced};
    case Fault::kTooLong:
      return FaultFacts{"a field is too long", kWorker, kThisFeedAlone};
    case Fault::kMissing:
      return FaultFacts{"a field is missing", kWorker, kThisFeedAlone};
    case Fault::kMalformed:
      return FaultFacts{"a field is malformed", kWorker, kThisFeedAlone};
    case Fault::kBadChecksum:
      return FaultFacts{"its checksum is wrong", kWorker, kReplaced};
    case Fault::kForbiddenCall:
      return FaultFacts{"made a forbidden system call", kDaemon, kTriedOnceMore};
    case Fault::kUnfitSize:
      return FaultFacts{"its size is unfit for the transforms", kWorker, kThisFeedAlone};
    case Fault::kNotByGpu:
      return FaultFacts{"the GPU's decoder failed on it", kDaemon, kDecodedByWorkers};
  }
  return std::nullopt;
}
#pragma GCC diagnostic pop

// Whether a worker may report this fault for a sample. kNone means that the row was written.
constexpr bool IsWorkers(Fault fault) {
  const std::optional<FaultFacts> facts = FactsOf(fault);
  return facts && facts->finder == FaultFinder::kWorker;
}

// Whether the fault concerns what this feed requests (a field, a transform) rather than the sample
// as a whole: other feeds may request other things.
constexpr bool IsOfField(Fault fault) {
  const std::optional<FaultFacts> facts = FactsOf(fault);
  return facts && facts->follows == FaultFollows::kThisFeedAlone;
}

// "truncated", "too many pixels", …; "unknown" for an unknown number.
constexpr absl::string_view FaultName(Fault fault) {
  const std::optional<FaultFacts> facts = FactsOf(fault);
  return facts ? facts->name : "unknown";
}

}  // namespace penstock::base
