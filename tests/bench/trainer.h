// A trainer that takes batches and does nothing with them. One thread.
#pragma once

#include <cstdint>

#include "client/include/penstock/penstock.h"
#include "common/base/status.h"

namespace penstock::bench {

class Trainer {
 public:
  // In host memory: what is measured is feeding, not copying to a GPU.
  static absl::StatusOr<Trainer> Open(Client& client, SessionOptions options);

  // At least `samples` more, up to a batch that it had to wait for: then it has all that is ready,
  // and a clock that is looked at now counts what was filled, not what had piled up. Their number.
  absl::StatusOr<uint64_t> Take(uint64_t samples);

 private:
  explicit Trainer(Session session) : session_(std::move(session)) {}
  penstock::Result<Batch> Wait();

  Session session_;
};

}  // namespace penstock::bench
