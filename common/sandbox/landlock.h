// A Landlock domain without any rule. As far as the running kernel supports it, the process can no
// longer open, make or remove files, bind or connect TCP sockets, connect to abstract Unix sockets,
// or signal processes outside of the domain.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::sandbox {

// The rights that a version of the interface knows. For a version later than the newest one known
// here: the rights of the newest one.
struct LandlockRights {
  uint64_t files = 0, network = 0, scopes = 0;
};
LandlockRights MakeLandlockRights(int version);

// Enters the domain and returns the version of the interface. Returns 0, and changes nothing, if
// the kernel has no Landlock or the container forbids it. **Requires**: the process has one thread,
// and has given up the right to gain privileges.
int EnterLandlock();

}  // namespace penstock::sandbox
