#include "common/base/fault.h"

namespace penstock::base {

absl::string_view FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone: return "none";
    case Fault::kEmpty: return "empty";
    case Fault::kNotAnImage: return "not an image";
    case Fault::kUnsupported: return "unsupported kind";
    case Fault::kTruncated: return "truncated";
    case Fault::kCorrupt: return "corrupt";
    case Fault::kTooManyBytes: return "too many bytes";
    case Fault::kTooManyPixels: return "too many pixels";
    case Fault::kTimeout: return "took too long";
    case Fault::kWorkerCrashed: return "crashed a worker twice";
    case Fault::kChangedOnDisk: return "changed on disk";
    case Fault::kTooManyScans: return "too many scans";
  }
  return "unknown";
}

}  // namespace penstock::base
