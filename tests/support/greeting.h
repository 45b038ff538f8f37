// What a client says first at the doorway, for tests that speak to a daemon without the client
// library.
#pragma once

#include <string>

#include "common/posix/fd.h"

namespace penstock::testing {

// The ticket that it got, as metadata has it; or the refusal's words.
struct Greeting {
  std::string ticket, refusal;
};

Greeting SendHandshake(const posix::Fd& socket, uint32_t version);

}  // namespace penstock::testing
