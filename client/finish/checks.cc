#include "client/finish/checks.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace penstock::finish {

size_t ElementBytes(Type type) {
  switch (type) {
    case Type::kUInt8:
      return 1;
    case Type::kFloat16:
    case Type::kBFloat16:
      return 2;
    case Type::kFloat32:
      return 4;
  }
  return 0;
}

absl::StatusOr<uint64_t> FinishedBytes(Type type, const Shape& shape) {
  uint64_t bytes = ElementBytes(type);
  for (const uint64_t factor : {shape.rows, shape.height, shape.width, shape.channels}) {
    if (__builtin_mul_overflow(bytes, factor, &bytes)) {
      return absl::InvalidArgumentError(absl::StrCat("a batch of ", shape.rows, " x ", shape.height,
                                                     " x ", shape.width, " x ", shape.channels,
                                                     " does not fit in memory"));
    }
  }
  return bytes;
}

absl::Status CheckCoefficients(const Spec& spec, uint32_t channels) {
  if (spec.type == Type::kUInt8) return absl::OkStatus();
  if (spec.mean.size() != channels || spec.stddev.size() != channels) {
    return absl::InvalidArgumentError(
        absl::StrCat("the finish needs one mean and one standard deviation for each of ", channels,
                     " channels, got ", spec.mean.size(), " and ", spec.stddev.size()));
  }
  for (uint32_t c = 0; c < channels; ++c) {
    if (!std::isfinite(spec.mean[c]) || !std::isfinite(spec.stddev[c]) || spec.stddev[c] == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the finish needs a finite mean and a finite standard deviation other than 0, "
          "got ",
          spec.mean[c], " and ", spec.stddev[c], " for channel ", c));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const Spec& spec, const Shape& shape, uint64_t rows_bytes,
                        uint64_t into_bytes) {
  if (shape.channels < 1 || shape.channels > kMaxChannels) {
    return absl::InvalidArgumentError(
        absl::StrCat("the finish takes 1 to ", kMaxChannels, " channels, got ", shape.channels));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t stored, FinishedBytes(Type::kUInt8, shape));
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t finished, FinishedBytes(spec.type, shape));
  if (rows_bytes != stored) {
    return absl::InvalidArgumentError(absl::StrCat("the finish: wrong number of input bytes: got ",
                                                   rows_bytes, ", expected ", stored,
                                                   " for this shape"));
  }
  if (into_bytes < finished) {
    return absl::InvalidArgumentError(
        absl::StrCat("the finish: not enough memory for its result: got ", into_bytes,
                     " bytes, expected at least ", finished));
  }
  return absl::OkStatus();
}

}  // namespace penstock::finish
