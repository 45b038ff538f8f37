#include "tests/support/programs/busy_trainer.h"

#include <gtest/gtest.h>

#include "tests/support/programs/trainer.h"

namespace penstock::testing {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

BusyTrainer::BusyTrainer(const std::string& address)
    : thread_([this, address] { Train(address); }) {
  for (int i = 0; i < 3000 && batches_ == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GT(batches_, 0u) << "no batch came";
}

BusyTrainer::~BusyTrainer() {
  stopping_ = true;
  thread_.join();
}

void BusyTrainer::Train(const std::string& address) {
  Client client = Client::Connect({.address = address}).OrDie();
  SessionOptions options = SmallRows("photographs", 8);
  options.epochs = 1'000'000;
  Session session = client.Open(options).OrDie();
  while (!stopping_) {
    const Result<Batch> batch = session.Next(seconds(30));
    if (batch.ok()) ++batches_;
    if (!batch.ok() && batch.status().code() != Code::kEndOfEpoch) break;
  }
}

double BusyTrainer::RateFor(milliseconds time) const {
  const auto began = steady_clock::now();
  const uint64_t before = batches_;
  std::this_thread::sleep_for(time);
  return static_cast<double>(batches_ - before) /
         duration<double>(steady_clock::now() - began).count();
}

}  // namespace penstock::testing
