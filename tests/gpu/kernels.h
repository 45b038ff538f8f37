// What trainers do on the GPU, for tests: kernels that take their time, that read what they were
// given again and again, and that write where they must not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::gpu {

// Keeps the stream busy.
void Spin(double seconds, void* stream);

// Written by Watch while it runs; in memory that host and device both see.
struct WatchReport {
  uint64_t passes = 0;      // how often all was read
  uint64_t mismatches = 0;  // bytes that were not what they were at the first pass
};

// Computes on the whole GPU and reads and writes no memory: one wave of blocks on 132 processors,
// a fixed amount of work whatever else the GPU does. `spare`: room for one number.
void Compute(uint32_t rounds, float* spare, void* stream);

// Reads `bytes` again and again for so long. `spare` has room for them, on the device.
void Watch(const uint8_t* rows, size_t bytes, uint8_t* spare, double seconds, WatchReport* report,
           void* stream);

// Turns every byte into another.
void Overwrite(uint8_t* at, size_t bytes, void* stream);

}  // namespace penstock::gpu
