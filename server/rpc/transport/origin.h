// Names connections. gRPC tells a call only the peer address of its connection, which is the
// relay's. The relay names that end after the client, for display; `Callers` maps it to the client.
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "server/rpc/controller.h"

namespace penstock::rpc {

// The abstract name of the relay's end. `random` prevents others from guessing the name and taking
// it first.
std::string OriginName(const Origin& origin, uint64_t random);

}  // namespace penstock::rpc
