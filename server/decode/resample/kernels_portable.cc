// Plain C++ for any machine; the compiler vectorises what it can.
#include "server/decode/resample/kernels.h"

namespace penstock::decode {
namespace {

constexpr int kShift = 22;
constexpr int32_t kHalf = 1 << (kShift - 1);
constexpr size_t kColumnsAtOnce = 256;

bool Always() { return true; }

void Pack(const int32_t* weights, int32_t* packed) { packed[0] = weights[0]; }

uint8_t Clip(int32_t sum) {
  const int32_t value = sum >> kShift;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

void HorizontalRow(const HorizontalJob& job, const uint8_t* row, uint8_t* out) {
  const int32_t* weights = job.weights;
  for (int i = 0; i < job.outputs; ++i, weights += job.groups, out += 3) {
    const uint8_t* pixel = row + job.first[i];
    int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int tap = 0; tap < job.groups; ++tap, pixel += 4) {
      red += weights[tap] * pixel[0];
      green += weights[tap] * pixel[1];
      blue += weights[tap] * pixel[2];
    }
    out[0] = Clip(red);
    out[1] = Clip(green);
    out[2] = Clip(blue);
  }
}

void Horizontal(const HorizontalJob& job) {
  for (int row = 0; row < kRowsAtOnce; ++row) HorizontalRow(job, job.rows[row], job.out[row]);
}

void Vertical(const VerticalJob& job) {
  int32_t sums[kColumnsAtOnce];
  for (size_t begin = 0; begin < job.bytes; begin += kColumnsAtOnce) {
    const size_t left = job.bytes - begin;
    const size_t columns = left < kColumnsAtOnce ? left : kColumnsAtOnce;
    for (size_t i = 0; i < columns; ++i) sums[i] = kHalf;
    for (int tap = 0; tap < job.groups; ++tap) {
      const uint8_t* row = job.rows[tap] + begin;
      const int32_t weight = job.weights[tap];
      for (size_t i = 0; i < columns; ++i) sums[i] += weight * row[i];
    }
    for (size_t i = 0; i < columns; ++i) job.out[begin + i] = Clip(sums[i]);
  }
}

}  // namespace

const Kernels kPortableKernels = {"portable", &Always, 1, 1, &Pack, &Horizontal, &Vertical};

}  // namespace penstock::decode
