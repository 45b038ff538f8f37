// Whether memory that a caller gives is the host's. Any thread.
#pragma once

#include <cstddef>

#include "penstock/status.h"

namespace penstock::client {

// Whether this CPU can read all of it; device memory is no address that a CPU can use.
bool HostReads(const void* memory, size_t bytes);

// What is said where it cannot: `what` was given.
Status NotTheHosts(const char* what);

}  // namespace penstock::client
