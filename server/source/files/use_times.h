// When something that is kept will be needed, so that what is needed last can make room. Times are
// of a clock that counts the rows which a daemon's feeds have begun.
#pragma once

#include <cstdint>

namespace penstock::source {

struct UseTimes {
  uint64_t now = 0;
  // After the use that is announced. 0: nobody knows; the maximum: never.
  uint64_t next = 0;
};

}  // namespace penstock::source
