// Worker processes played by the test, which answers requests through the same shared memory and
// decides when the workers are ready and how they end.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/workers/worker_process.h"
#include "tests/unit/workers/queue_rig.h"

namespace penstock::workers {

constexpr uint64_t kFakeArena = 4096;

// The test's control of a process. Outlives the process.
class FakeWorker {
 public:
  FakeWorker(WorkerProcessOptions options, const SupervisorEndpoint& endpoint, pid_t pid)
      : options(std::move(options)),
        pid(pid),
        ended(posix::MakeEvent().value()),
        done_(endpoint.done_event().Duplicate().value()) {
    mapping_ =
        posix::Mapping::Map(endpoint.memory(), kArenaOffset + kFakeArena, posix::Access::kReadWrite)
            .value();
    channel_ = reinterpret_cast<Channel*>(mapping_.data());
    requests_.emplace(channel_->requests);
    completions_.emplace(channel_->completions);
  }

  void BeReady() { channel_->ready = 1; }
  void ClaimBusy(uint64_t ns) { channel_->busy_ns = ns; }
  // Waits for a request, and marks it as started.
  DecodeRequest Take() {
    DecodeRequest request{};
    EXPECT_TRUE(Eventually([&] { return requests_->Pop(request) == shm::RingOutcome::kDone; }));
    channel_->started = request.sequence;
    return request;
  }
  void Answer(uint64_t sequence) {
    completions_->Push(
        {.sequence = sequence, .fault = base::Fault::kNone, .decode_us = 0, .ended_ns = 0});
  }
  void Notify() { posix::NotifyEvent(done_); }
  void End(const posix::Exit& how) {
    if (!exit) posix::NotifyEvent(ended);
    exit = how;
  }

  const WorkerProcessOptions options;
  const pid_t pid;
  const posix::Fd ended;
  std::optional<posix::Exit> exit;  // how it ended
  bool is_killed = false;
  bool is_gone = false;            // the object that represents it was destroyed
  bool dies_slowly = false;        // killing it takes until End
  absl::Status sent;               // the result of sending it a segment
  std::vector<uint32_t> segments;  // sent to it
  std::string words;               // written to standard error

 private:
  const posix::Fd done_;
  posix::Mapping mapping_;
  Channel* channel_ = nullptr;
  std::optional<shm::RingConsumer<DecodeRequest, kRingCapacity>> requests_;
  std::optional<shm::RingProducer<Completion, kRingCapacity>> completions_;
};

class FakeProcess final : public WorkerProcess {
 public:
  explicit FakeProcess(std::shared_ptr<FakeWorker> worker) : worker_(std::move(worker)) {}
  ~FakeProcess() override { worker_->is_gone = true; }

  pid_t pid() const override { return worker_->pid; }
  const posix::Fd& pidfd() const override { return worker_->ended; }
  absl::Status UseSegment(uint32_t segment, const posix::Fd&, uint64_t) override {
    worker_->segments.push_back(segment);
    return worker_->sent;
  }
  absl::Status ForgetSegment(uint32_t segment) override {
    std::erase(worker_->segments, segment);
    return worker_->sent;
  }
  void Kill() override {
    worker_->is_killed = true;
    if (!worker_->dies_slowly) worker_->End({.signalled = true, .code = SIGKILL});
  }
  std::optional<posix::Exit> Reap() override { return worker_->exit; }
  int StartError() const override { return 0; }
  std::string LastWords() override { return worker_->words; }

 private:
  const std::shared_ptr<FakeWorker> worker_;  // shared with the test
};

// Starts fake processes, and keeps them in the order in which they started.
class FakeWorkers {
 public:
  StartProcess Starter() {
    return [this](const WorkerProcessOptions& options, const SupervisorEndpoint& endpoint)
               -> absl::StatusOr<std::unique_ptr<WorkerProcess>> {
      PENSTOCK_RETURN_IF_ERROR(start);
      // Greater than any process id on this machine, so that no process's CPU time is read.
      const pid_t pid = (1 << 22) + 1 + static_cast<pid_t>(workers_.size());
      workers_.push_back(std::make_shared<FakeWorker>(options, endpoint, pid));
      if (are_ready) workers_.back()->BeReady();
      return std::make_unique<FakeProcess>(workers_.back());
    };
  }
  FakeWorker& operator[](size_t i) { return *workers_.at(i); }
  size_t size() const { return workers_.size(); }

  absl::Status start;     // the result of a start
  bool are_ready = true;  // as soon as they start

 private:
  std::deque<std::shared_ptr<FakeWorker>> workers_;  // shared with their processes
};

}  // namespace penstock::workers
