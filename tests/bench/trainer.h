// A trainer that takes batches and does nothing with them. One thread.
#pragma once

#include <cstdint>

#include "client/include/penstock/penstock.h"
#include "common/base/status.h"

namespace penstock::bench {

class Trainer {
 public:
  // Opens the session in host memory, because feeding is measured, not copies to a GPU.
  static absl::StatusOr<Trainer> Open(Client& client, SessionOptions options);

  // Takes at least `samples` more samples, and then until it has to wait for a batch. At that point
  // nothing is ready ahead, so a clock read now counts work that was done since, not a backlog.
  // Returns the number of samples.
  absl::StatusOr<uint64_t> Take(uint64_t samples);

 private:
  explicit Trainer(Session session) : session_(std::move(session)) {}
  penstock::Result<Batch> Wait();

  Session session_;
};

}  // namespace penstock::bench
