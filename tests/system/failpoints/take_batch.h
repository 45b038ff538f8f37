// How penstock-test-trainee takes batches: into host memory, or on a GPU (tests/gpu).
#pragma once

#include <chrono>

#include "client/include/penstock/penstock.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {

// The same options, for the delivery that TakeBatch expects.
SessionOptions ForTakeBatch(SessionOptions options);

// As TakeBatches, for one batch.
Status TakeBatch(Session& session, Delivered& delivered, std::chrono::milliseconds step);

}  // namespace penstock::testing
