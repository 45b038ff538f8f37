// A session's options as the daemon's request. Pure, but that it looks at which process this is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/src/connection/negotiation.h"
#include "common/cuda/device.h"
#include "penstock/penstock.h"
#include "penstock/v1/feed.pb.h"

namespace penstock::client {

// The seed that counts: the state's, where there is one.
uint64_t SeedOf(const SessionOptions& options);

// InvalidArgument: an order is given and not meant, or meant and not given.
absl::Status CheckOrder(const SessionOptions& options);

// Opens as `options` say, at `state` (in place of theirs) and for `epochs` more epochs.
v1::OpenSessionRequest MakeOpenRequest(const SessionOptions& options,
                                       const std::optional<State>& state, uint64_t epochs);

// Part `number` (from 0 on) of an order that is sent; so many there are.
v1::SendOrderRequest MakeOrderPart(const std::vector<uint64_t>& order, size_t number);
size_t OrderParts(const std::vector<uint64_t>& order);

// Adds which delivery is asked for, and of device delivery on which GPU.
struct DeviceWish {
  cuda::Uuid gpu;
  uint32_t depth = 0;
};
void AskFor(const Ask& ask, const DeviceWish& device, v1::OpenSessionRequest& request);

}  // namespace penstock::client
