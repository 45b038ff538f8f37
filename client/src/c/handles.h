// What the C API's opaque handles hold.
#pragma once

#include <string>
#include <vector>

#include "client/src/core/fork.h"
#include "penstock/c.h"
#include "penstock/penstock.h"

struct penstock_client {
  penstock::Client client;
};

struct penstock_dataset {
  penstock::DatasetInfo info;
};

struct penstock_session {
  penstock::Session session;
  const uint32_t generation = penstock::client::WatchForks();
  std::vector<penstock::Field> tensors;  // C callers get pointers to the names and shapes
};

struct penstock_batch {
  penstock::Batch batch;
  const uint32_t generation = penstock::client::WatchForks();
};

// Whether another process made it, of which this one is a forked child.
template <typename Handle>
bool IsForeign(const Handle& handle) {
  return penstock::client::ForkedSince(handle.generation);
}
