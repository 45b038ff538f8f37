// A queue with a worker played by the test, through the same shared memory.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/workers/queue/worker_queue.h"

namespace penstock::workers {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline bool Eventually(const std::function<bool()>& condition) {
  const base::TimePoint deadline = base::Now() + seconds(20);
  while (!condition()) {
    if (base::Now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

// Sample n has n bytes with the value n. The test can make attempts to open or read fail, and one
// read hang.
class FakeDataset final : public source::Dataset {
 public:
  std::atomic<int> open_failures{0}, read_failures{0};
  std::atomic<int> opened{0};
  std::atomic<bool> hangs{false}, hung{false};
  base::Fault fault = base::Fault::kNone;
  absl::Status changed;  // if not OK, every Open returns it

  absl::string_view kind() const override { return "fake"; }
  uint64_t samples() const override { return 1 << 20; }
  uint64_t digest() const override { return 1; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t sample) const override { return absl::StrCat("/fake/", sample); }
  std::unique_ptr<Reader> NewReader() const override;

 private:
  class FakeReader;
  std::vector<std::string> classes_;
};

class FakeDataset::FakeReader final : public Reader {
 public:
  explicit FakeReader(const FakeDataset& dataset) : dataset_(const_cast<FakeDataset&>(dataset)) {}
  absl::StatusOr<Opened> Open(uint64_t sample) override {
    ++dataset_.opened;
    PENSTOCK_RETURN_IF_ERROR(dataset_.changed);
    if (dataset_.open_failures-- > 0) return absl::UnavailableError("the disk is away");
    sample_ = sample;
    return Opened{.bytes = sample, .fault = dataset_.fault};
  }
  absl::Status Read(std::span<std::byte> into) override {
    if (dataset_.read_failures-- > 0) return absl::UnavailableError("the read failed");
    if (dataset_.hangs && !dataset_.hung.exchange(true))
      while (dataset_.hangs) ::poll(nullptr, 0, 1);
    std::memset(into.data(), static_cast<int>(sample_ % 256), into.size());
    return absl::OkStatus();
  }

 private:
  FakeDataset& dataset_;
  uint64_t sample_ = 0;
};

inline std::unique_ptr<source::Dataset::Reader> FakeDataset::NewReader() const {
  return std::make_unique<FakeReader>(*this);
}

// While this exists, or until End, the dataset's next read hangs.
class Hang {
 public:
  explicit Hang(FakeDataset& dataset) : dataset_(dataset) { dataset_.hangs = true; }
  ~Hang() { End(); }
  bool Begun() const {
    return Eventually([this] { return dataset_.hung.load(); });
  }
  void End() { dataset_.hangs = false; }

 private:
  FakeDataset& dataset_;
};

class WorkerQueueTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kArena = 4096;

  void SetUp() override {
    wake_ = posix::MakeEvent().value();
    Open({.number = 0, .limits = {.max_bytes = kArena}});
  }

  void Open(const WorkerQueue::Options& options) {
    queue_ = std::make_unique<WorkerQueue>(options, wake_, loose_);
    Attach();
  }

  void Attach() {
    endpoint_ =
        SupervisorEndpoint::Make({.arena_bytes = kArena, .memory_bytes = 0, .limits = {}}).value();
    mapping_ =
        posix::Mapping::Map(endpoint_->memory(), kArenaOffset + kArena, posix::Access::kReadWrite)
            .value();
    channel_ = reinterpret_cast<Channel*>(mapping_.data());
    requests_.emplace(channel_->requests);
    completions_.emplace(channel_->completions);
    queue_->Attach(endpoint_);
  }

  void Give(uint64_t id, uint64_t sample) {
    queue_->Give({.id = id, .dataset = &dataset_, .sample = sample});
  }

  // The worker's side.
  DecodeRequest Take() {
    DecodeRequest request{};
    EXPECT_TRUE(Eventually([&] { return requests_->Pop(request) == shm::RingOutcome::kDone; }));
    return request;
  }
  void Answer(uint64_t sequence, base::Fault fault = base::Fault::kNone) {
    completions_->Push({.sequence = sequence, .fault = fault, .decode_us = 0, .ended_ns = 0});
  }

  // Returns whether exactly these items' reads are reported as overdue, once.
  bool Overdue(const std::vector<uint64_t>& items) {
    std::vector<uint64_t> told;
    return Eventually([&] {
             for (const WorkerQueue::OverdueItem& each : queue_->TakeOverdue(base::Now()))
               told.push_back(each.id);
             return told.size() >= items.size();
           }) &&
           told == items && queue_->TakeOverdue(base::Now()).empty();
  }

  // Reads, answers and collects `count` items, numbered from 0.
  void GoThrough(uint64_t count) {
    uint64_t given = 0;
    while (outcomes_.size() < count) {
      while (given < count && queue_->outstanding() < 3) {
        Give(given, given % 1300 + 1);
        ++given;
      }
      DecodeRequest request;
      if (requests_->Pop(request) == shm::RingOutcome::kDone) {
        const auto expected = std::byte((request.sequence - 1) % 1300 + 1);
        ASSERT_EQ(mapping_.data()[kArenaOffset + request.input_offset], expected);
        Answer(request.sequence);
      }
      ASSERT_TRUE(Collect());
    }
  }

  bool Collect() { return queue_->Collect(base::Now(), outcomes_); }
  bool CollectSome(size_t count) {
    return Eventually([&] {
      EXPECT_TRUE(Collect());
      return outcomes_.size() >= count;
    });
  }

  posix::Fd wake_;
  FakeDataset dataset_, other_;
  posix::LooseThreads loose_{8};
  std::unique_ptr<WorkerQueue> queue_;
  std::shared_ptr<SupervisorEndpoint> endpoint_;
  posix::Mapping mapping_;
  Channel* channel_ = nullptr;
  std::optional<shm::RingConsumer<DecodeRequest, kRingCapacity>> requests_;
  std::optional<shm::RingProducer<Completion, kRingCapacity>> completions_;
  std::vector<Outcome> outcomes_;
};

}  // namespace penstock::workers
