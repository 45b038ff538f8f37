// Plain C++ for any machine; the compiler vectorises what it can.
#include "server/augment/color/kernels.h"
#include "server/augment/color/planes.h"

namespace penstock::augment {
namespace {

bool Supported() { return true; }

constexpr size_t kVectorBytes = 16;

void Split(const uint8_t* rgb, Planes* planes) {
  for (size_t i = 0; i < kBlock; ++i) {
    planes->red[i] = rgb[3 * i];
    planes->green[i] = rgb[3 * i + 1];
    planes->blue[i] = rgb[3 * i + 2];
  }
}

void Join(const Planes& planes, uint8_t* rgb) {
  for (size_t i = 0; i < kBlock; ++i) {
    rgb[3 * i] = planes.red[i];
    rgb[3 * i + 1] = planes.green[i];
    rgb[3 * i + 2] = planes.blue[i];
  }
}

void LookUp(uint8_t* rgb, size_t pixels, const uint8_t (*tables)[256]) {
  for (size_t i = 0; i < pixels; ++i) {
    rgb[3 * i] = tables[0][rgb[3 * i]];
    rgb[3 * i + 1] = tables[1][rgb[3 * i + 1]];
    rgb[3 * i + 2] = tables[2][rgb[3 * i + 2]];
  }
}

}  // namespace
}  // namespace penstock::augment

#define PENSTOCK_COLOR_KERNELS kPortableColorKernels
#define PENSTOCK_COLOR_KERNELS_NAME "portable"
#include "server/augment/color/kernels_body.h"
