#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace penstock::base {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "penstock: %s:%d: this cannot happen, but did: %s\n", file, line, condition);
  std::abort();
}

}  // namespace penstock::base
