#include "common/base/fault.h"

namespace penstock::base {

absl::string_view FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kEmpty:
      return "empty";
    case Fault::kNotAnImage:
      return "not an image";
    case Fault::kUnsupported:
      return "unsupported kind";
    case Fault::kTruncated:
      return "truncated";
    case Fault::kCorrupt:
      return "corrupt";
    case Fault::kTooManyBytes:
      return "too many bytes";
    case Fault::kTooManyPixels:
      return "too many pixels";
    case Fault::kTimeout:
      return "took too long";
    case Fault::kWorkerCrashed:
      return "crashed a worker twice";
    case Fault::kChangedOnDisk:
      return "changed on disk";
    case Fault::kTooManyScans:
      return "too many scans";
    case Fault::kTooLong:
      return "a field is too long";
    case Fault::kMissing:
      return "a field is missing";
    case Fault::kMalformed:
      return "a field is malformed";
    case Fault::kBadChecksum:
      return "its checksum is wrong";
  }
  return "unknown";
}

}  // namespace penstock::base
