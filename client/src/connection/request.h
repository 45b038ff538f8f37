// Turns a session's options into requests to the daemon. Pure, except that it reads this process's
// number and PID namespace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/src/connection/negotiation.h"
#include "common/cuda/device.h"
#include "penstock/penstock.h"
#include "penstock/v1/feed.pb.h"

namespace penstock::client {

// The effective seed: the state's, if there is one.
uint64_t SeedOf(const SessionOptions& options);

// InvalidArgument if Order::kGiven and `given` do not go together.
absl::Status CheckOrder(const SessionOptions& options);

// InvalidArgument if options of a Python dataset are impossible. The daemon checks its own limits.
absl::Status CheckPython(const SessionOptions& options);

// InvalidArgument if this process cannot decode as `options` say.
absl::Status CheckGpuDecoding(const SessionOptions& options);

// Opens as `options` say, but at `state` and for `epochs` further epochs.
v1::OpenSessionRequest MakeOpenRequest(const SessionOptions& options,
                                       const std::optional<State>& state, uint64_t epochs);
// Adds that this process decodes, with what. **Requires**: options.gpu_decoding.
void AskForFiles(const SessionOptions& options, const std::string& decoder,
                 v1::OpenSessionRequest& request);

// Part `number` (from 0 on) of OrderParts(order) messages that send an order.
v1::SendOrderRequest MakeOrderPart(const std::vector<uint64_t>& order, size_t number);
size_t OrderParts(const std::vector<uint64_t>& order);

// Adds the requested delivery, and for device delivery the GPU.
struct DeviceRequest {
  cuda::Uuid gpu;
  uint32_t depth = 0;
};
void AskFor(const Ask& ask, const DeviceRequest& device, v1::OpenSessionRequest& request);

}  // namespace penstock::client
