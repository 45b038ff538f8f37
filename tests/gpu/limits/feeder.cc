#include "tests/gpu/limits/feeder.h"

#include <chrono>

#include "tests/gpu/gpu.h"

namespace penstock::gpu {

Feeder::Feeder(std::vector<Lane> lanes, uint64_t batches)
    : batches_(batches), lanes_(std::move(lanes)) {
  for (Lane& lane : lanes_) threads_.emplace_back([this, &lane] { Run(lane); });
}

Feeder::~Feeder() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void Feeder::Await(uint64_t batches) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (taken_ < batches) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << taken_ << " of " << batches;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Feeder::Run(Lane& lane) {
  const cuda::DeviceScope scope(lane.front().device());
  const cuda::Stream stream = Must(cuda::Stream::Make());
  for (Session& session : lane) {
    for (uint64_t taken = 0; taken < batches_ && !stopping_;) {
      Result<Batch> batch = session.Next(stream.get(), std::chrono::seconds(30));
      if (batch.status().code() == Code::kEndOfEpoch) continue;
      ASSERT_TRUE(batch.ok()) << batch.status().ToString();
      const Status released = batch->Release(stream.get());
      ASSERT_TRUE(released.ok()) << released.ToString();
      ++taken;
      ++taken_;
    }
  }
  if (!stopping_) ++ended_;
  EXPECT_OK(cuda::Synchronize(stream.get()));
}

}  // namespace penstock::gpu
