#include "client/src/core/convert.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace penstock::client {
namespace {

Code ToPublic(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return Code::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return Code::kInvalidArgument;
    case absl::StatusCode::kNotFound:
      return Code::kNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return Code::kPermissionDenied;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kUnimplemented:
      return Code::kFailedPrecondition;
    case absl::StatusCode::kResourceExhausted:
      return Code::kResourceExhausted;
    case absl::StatusCode::kDeadlineExceeded:
      return Code::kDeadlineExceeded;
    case absl::StatusCode::kUnavailable:
      return Code::kUnavailable;
    case absl::StatusCode::kDataLoss:
      return Code::kDataLoss;
    case absl::StatusCode::kCancelled:
      return Code::kCancelled;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Status ToPublic(const absl::Status& status) {
  if (status.ok()) return {};
  return Status(ToPublic(status.code()), std::string(status.message()));
}

Status CheckFinish(const Finish& finish, bool has_image) {
  const Finish none;
  if (has_image || (std::equal(std::begin(finish.mean), std::end(finish.mean), none.mean) &&
                    std::equal(std::begin(finish.stddev), std::end(finish.stddev), none.stddev)))
    return {};
  return Invalid(
      "the finish has a mean or a standard deviation, but these batches have no image of bytes; "
      "leave both out, and normalise the other tensors yourself");
}

Status ForkedStatus() {
  return Status(Code::kFailedPrecondition,
                "this Penstock object belongs to the process before the fork; start the child with "
                "multiprocessing's spawn or forkserver method, and it can connect for itself");
}

absl::StatusOr<finish::Spec> ToFinishSpec(const Finish& finish, const Shape& shape) {
  const size_t known = std::size(finish.mean);
  if (finish.type != Type::kUInt8 && shape.channels > known) {
    return absl::InvalidArgumentError(
        absl::StrCat("the finish: too many channels: got ", shape.channels, ", expected at most ",
                     known, " for float types; use uint8, or convert the batch yourself"));
  }
  const size_t channels = std::min<size_t>(shape.channels, known);
  return finish::Spec{finish.type, finish.layout, std::span(finish.mean).first(channels),
                      std::span(finish.stddev).first(channels)};
}

}  // namespace penstock::client
