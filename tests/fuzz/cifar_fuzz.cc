// Arbitrary bytes as a pickled batch of CIFAR: if it is accepted, its images lie within it.
#include <cstdint>

#include "common/base/check.h"
#include "server/indexer/wire/cifar.h"
#include "server/source/cifar/cifar_pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto batch = penstock::source::ParseCifarBatch(
      absl::string_view(reinterpret_cast<const char*>(data), size), "/fuzz");
  if (batch.ok()) PENSTOCK_CHECK(penstock::indexer::CheckCifar(*batch, size).ok());
  return 0;
}
