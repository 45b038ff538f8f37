// The C API's options as the C++ client's. Every check of a C value is here.
#pragma once

#include <chrono>
#include <vector>

#include "penstock/c_types.h"
#include "penstock/penstock.h"

namespace penstock::c {

// `options` may be null: the defaults.
Result<ClientOptions> ToClientOptions(const penstock_client_options* options);
Result<SessionOptions> ToSessionOptions(const penstock_session_options* options);
Result<Finish> ToFinish(const penstock_finish* finish);
Result<State> ToState(const penstock_state* state);
penstock_state FromState(const State& state);
penstock_tensor_info FromField(const Field& field);

// Where a batch goes; `into.tensors` refers to `tensors`.
struct Places {
  Into into;
  std::vector<TensorInto> tensors;
};
Status ToPlaces(const penstock_into* into, Places& places);

// PENSTOCK_DEFAULT_TIMEOUT is the call's default, 5 min.
Result<std::chrono::milliseconds> ToTimeout(int64_t timeout_ms);

}  // namespace penstock::c
