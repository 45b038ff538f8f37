// A Landlock domain without any rule: the process can no longer open, make or remove files, bind or
// connect TCP sockets, connect to abstract Unix sockets or signal processes outside, as far as the
// running kernel knows these rights.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::sandbox {

// The rights that a version of the interface knows. Later versions than the newest one known here
// have the newest one's.
struct LandlockRights {
  uint64_t files = 0, network = 0, scopes = 0;
};
LandlockRights MakeLandlockRights(int version);

// Returns the version of the interface, or 0 if the kernel has no Landlock or the container forbids
// it, and nothing has changed. **Requires**: the process has one thread, and has given up the right
// to gain privileges.
int EnterLandlock();

}  // namespace penstock::sandbox
