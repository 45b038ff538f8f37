// Checks whether memory that a caller passed is host memory. Any thread.
#pragma once

#include <cstddef>

#include "penstock/status.h"

namespace penstock::client {

// Whether this CPU can read the first and the last byte. It cannot read device memory.
bool HostReads(const void* memory, size_t bytes);

// The error if it cannot; `what` names the argument.
Status NotTheHosts(const char* what);

}  // namespace penstock::client
