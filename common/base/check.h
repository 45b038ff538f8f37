// PENSTOCK_CHECK(condition) aborts the process if the condition is false. It is always on. Use it
// for what cannot happen; return an absl::Status for what can.
#pragma once

namespace penstock::base {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace penstock::base

#define PENSTOCK_CHECK(condition)                                                    \
  do {                                                                               \
    if (!(condition)) ::penstock::base::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
