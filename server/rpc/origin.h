// Whose connection a call came on. gRPC tells a call of its connection no more than the address of
// the other end: that is the relay's, which is named after who is behind it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

// The name of the relay's end in the abstract namespace; `random` makes it one that nobody guesses
// and takes first.
std::string OriginName(const Origin& origin, uint64_t random);

// Of what gRPC calls the peer ("unix-abstract:<name>"). Nothing: it is no connection of the
// relay's.
std::optional<Origin> OriginOf(absl::string_view peer);

}  // namespace penstock::rpc
