// A block of pixels with each channel on its own, so that the compiler can vectorise loops over it.
// Only kernel files include this header, each after its own instruction set's Split, Join and
// LookUp, or it takes the plain ones.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace penstock::augment {
namespace {

constexpr size_t kBlock = 256;  // pixels; a multiple of 64

struct Planes {
  alignas(64) uint8_t red[kBlock];
  alignas(64) uint8_t green[kBlock];
  alignas(64) uint8_t blue[kBlock];
};

}  // namespace
}  // namespace penstock::augment
