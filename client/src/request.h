// A session's options as the daemon's request. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/penstock.h"
#include "penstock/v1/feed.pb.h"

namespace penstock::client {

// The seed that counts: the state's, where there is one.
uint64_t SeedOf(const SessionOptions& options);

// Opens as `options` say, at `state` (in place of theirs) and for `epochs` more epochs.
v1::OpenSessionRequest MakeOpenRequest(const SessionOptions& options,
                                       const std::optional<State>& state, uint64_t epochs);

}  // namespace penstock::client
