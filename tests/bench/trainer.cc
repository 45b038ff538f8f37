#include "tests/bench/trainer.h"

#include <utility>

#include "tests/bench/harness/interrupt.h"
#include "tests/bench/harness/measure.h"

namespace penstock::bench {
namespace {

constexpr std::chrono::milliseconds kSlice(200);
constexpr double kLongestSeconds = 60;

absl::Status FromClient(const Status& status) {
  return absl::UnavailableError(absl::StrCat("the feed failed: ", status.message()));
}

}  // namespace

absl::StatusOr<Trainer> Trainer::Open(Client& client, SessionOptions options) {
  options.delivery = Delivery::kHost;
  options.name = "penstock-bench";
  penstock::Result<Session> session = client.Open(options);
  if (!session.ok()) return FromClient(session.status());
  return Trainer(*std::move(session));
}

absl::StatusOr<uint64_t> Trainer::Take(uint64_t samples) {
  uint64_t taken = 0;
  for (bool waited = false; taken < samples || (!waited && taken < 2 * samples);) {
    penstock::Result<Batch> batch = session_.Next(std::chrono::milliseconds(0));
    waited = batch.status().code() == Code::kDeadlineExceeded;
    if (waited) batch = Wait();
    PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
    if (batch.ok()) {
      taken += batch->valid_rows();
    } else if (batch.status().code() != Code::kEndOfEpoch) {
      return FromClient(batch.status());
    }
  }
  return taken;
}

penstock::Result<Batch> Trainer::Wait() {
  const Stopwatch watch(Time::kWall);
  for (;;) {
    penstock::Result<Batch> batch = session_.Next(kSlice);
    const bool late = batch.status().code() == Code::kDeadlineExceeded;
    if (!late || watch.Seconds() > kLongestSeconds || !CheckInterrupted().ok()) return batch;
  }
}

}  // namespace penstock::bench
