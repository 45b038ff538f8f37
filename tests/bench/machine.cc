#include "common/posix/machine.h"

#include <cstdlib>

#include "server/decode/resample/resampler.h"
#include "tests/bench/harness/result.h"

namespace penstock::bench {

Machine ThisMachine() {
  Machine machine{.cores = posix::ReadMachine().Cores(), .simd = decode::BestKernels().name};
  double load = 0;
  if (::getloadavg(&load, 1) == 1) machine.load = load;
  return machine;
}

}  // namespace penstock::bench
