#include "penstock/status.h"

#include <cstdio>
#include <cstdlib>

namespace penstock {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kPermissionDenied:
      return "permission denied";
    case Code::kFailedPrecondition:
      return "failed precondition";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kDeadlineExceeded:
      return "deadline exceeded";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDataLoss:
      return "data loss";
    case Code::kEndOfEpoch:
      return "end of epoch";
    case Code::kEndOfData:
      return "end of data";
    case Code::kInternal:
      return "internal error";
    case Code::kCancelled:
      return "cancelled";
    case Code::kHostWanted:
      return "host wanted";
  }
  return "unknown";
}

void Die(const Status& status) {
  std::fprintf(stderr, "penstock: %s\n", status.ToString().c_str());
  std::exit(1);
}

}  // namespace penstock
