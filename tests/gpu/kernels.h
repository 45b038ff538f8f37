// GPU work of trainers, for tests: kernels that take a given time, that read their input
// repeatedly, and that write where they must not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::gpu {

// Keeps the stream busy.
void Spin(double seconds, void* stream);

// Watch writes this while it runs, into memory visible to host and device.
struct WatchReport {
  uint64_t passes = 0;      // complete reads of all bytes
  uint64_t mismatches = 0;  // bytes that differed from the first pass
};

// Computes on the whole GPU without reading or writing memory: one wave of blocks on 132
// multiprocessors with a fixed amount of work, whatever else the GPU does. `spare` has space for
// one number.
void Compute(uint32_t rounds, float* spare, void* stream);

// Reads `bytes` repeatedly for `seconds`. `spare` is device memory of the same size.
void Watch(const uint8_t* rows, size_t bytes, uint8_t* spare, double seconds, WatchReport* report,
           void* stream);

// Changes every byte to a different value.
void Overwrite(uint8_t* at, size_t bytes, void* stream);

}  // namespace penstock::gpu
