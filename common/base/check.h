// PENSTOCK_CHECK: always on, for what cannot happen. What can happen is an absl::Status.
#pragma once

namespace penstock::base {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace penstock::base

#define PENSTOCK_CHECK(condition)                                                    \
  do {                                                                               \
    if (!(condition)) ::penstock::base::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
