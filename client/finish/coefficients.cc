#include "client/finish/coefficients.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace penstock::finish {
namespace {

float DivideByRemainder(float x, float divisor, float inverse) {
  const float quotient = x * inverse;
  const float remainder = std::fma(-divisor, quotient, x);
  return std::fma(remainder, inverse, quotient);
}

PreparedCoefficients Prepare(const Spec& spec, uint32_t channels) {
  PreparedCoefficients prepared;
  prepared.division = Division::kByRemainder;
  for (uint32_t c = 0; c < channels; ++c) {
    prepared.table.mean[c] = spec.mean[c];
    prepared.table.stddev[c] = spec.stddev[c];
    prepared.table.inverse[c] = 1.0f / spec.stddev[c];
    if (!RemainderIsExact(spec.mean[c], spec.stddev[c])) prepared.division = Division::kExact;
  }
  return prepared;
}

struct Last {
  uint32_t channels = 0;  // 0: none yet
  PreparedCoefficients prepared;
};

bool IsFor(const Last& last, const Spec& spec, uint32_t channels) {
  if (last.channels != channels) return false;
  const size_t bytes = channels * sizeof(float);
  return std::memcmp(last.prepared.table.mean, spec.mean.data(), bytes) == 0 &&
         std::memcmp(last.prepared.table.stddev, spec.stddev.data(), bytes) == 0;
}

}  // namespace

bool RemainderIsExact(float mean, float stddev) {
  const float inverse = 1.0f / stddev;
  for (int v = 0; v < 256; ++v) {
    const auto value = static_cast<float>(v);
    const float exact = (value / 255.0f - mean) / stddev;
    const float unit = DivideByRemainder(value, 255.0f, 1.0f / 255.0f);
    const float quick = DivideByRemainder(unit - mean, stddev, inverse);
    if (std::bit_cast<uint32_t>(quick) != std::bit_cast<uint32_t>(exact)) return false;
  }
  return true;
}

const PreparedCoefficients& PrepareCoefficients(const Spec& spec, uint32_t channels) {
  thread_local Last last;
  if (spec.type == Type::kUInt8) {
    static const PreparedCoefficients kNone = {.division = Division::kByRemainder};
    return kNone;
  }
  if (!IsFor(last, spec, channels)) last = {channels, Prepare(spec, channels)};
  return last.prepared;
}

}  // namespace penstock::finish
