// What the C API's opaque handles hold.
#pragma once

#include <string>
#include <vector>

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
  std::vector<penstock::Field> tensors;  // C callers get pointers to the names and shapes
};

struct penstock_batch {
  penstock::Batch batch;
};
