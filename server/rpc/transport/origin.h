// What a connection is called. gRPC tells a call of its connection no more than the address of the
// other end: that is the relay's, which is named after who is behind it, for people; whose it is,
// `Callers` knows. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "server/rpc/controller.h"

namespace penstock::rpc {

// The name of the relay's end in the abstract namespace; `random` makes it one that nobody guesses
// and takes first.
std::string OriginName(const Origin& origin, uint64_t random);

}  // namespace penstock::rpc
