#include "common/cuda/range.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

namespace penstock::cuda {

TraceRange::TraceRange(const char* what, uint64_t epoch, uint64_t first) {
  char text[96];
  std::snprintf(text, sizeof(text), "penstock %s %llu:%llu", what,
                static_cast<unsigned long long>(epoch), static_cast<unsigned long long>(first));
  nvtxRangePushA(text);
}

TraceRange::~TraceRange() { nvtxRangePop(); }

}  // namespace penstock::cuda
#else
namespace penstock::cuda {

TraceRange::TraceRange(const char*, uint64_t, uint64_t) {}
TraceRange::~TraceRange() = default;

}  // namespace penstock::cuda
#endif
