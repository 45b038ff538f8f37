// A supervisor with real workers over generated photographs, for the tests of this folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/posix/memory.h"
#include "server/source/core/dataset.h"
#include "server/workers/supervisor.h"

namespace penstock::workers {

// A JPEG of smooth shapes and noise drawn from a seed.
std::vector<std::byte> MakeJpeg(uint32_t width, uint32_t height, uint64_t seed);

// Serves files from memory. Reads fail until `failures` are used up, and hang after Hang().
class MemoryDataset final : public source::Dataset {
 public:
  explicit MemoryDataset(std::vector<std::vector<std::byte>> files) : files_(std::move(files)) {}

  mutable std::atomic<int> failures{0};
  // Makes reads block until LetGo().
  void Hang() { hangs_ = true; }
  void LetGo() {
    hangs_ = false;
    hangs_.notify_all();
  }
  void WaitWhileItHangs() const { hangs_.wait(true); }

  absl::string_view kind() const override { return "fake"; }
  uint64_t samples() const override { return files_.size(); }
  uint64_t digest() const override { return 1; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t sample) const override { return absl::StrCat("memory:", sample); }
  std::unique_ptr<Reader> NewReader() const override;
  const std::vector<std::byte>& file(uint64_t sample) const { return files_[sample]; }

 private:
  std::atomic<bool> hangs_{false};
  std::vector<std::vector<std::byte>> files_;
  std::vector<std::string> classes_;
};

class Rig {
 public:
  static constexpr uint32_t kSegment = 7;

  Rig(MemoryDataset& dataset, SupervisorOptions options, size_t rows, decode::Spec spec = {});

  std::function<void()> before_each_step = [] {};

  Supervisor& supervisor() { return *supervisor_; }
  size_t Headroom() const { return supervisor_->HeadroomFor(user_); }

  static constexpr uint64_t kAccount = 9;
  WorkItem Item(uint64_t row, uint64_t sample) const;
  std::span<const std::byte> Row(uint64_t row) const;
  // Decodes the item in this process.
  std::vector<std::byte> Expected(const WorkItem& item) const;

  void Submit(uint64_t row, uint64_t sample) { supervisor_->Submit(Item(row, sample)); }
  // Collects and ticks until the condition holds; returns false after 30 s.
  bool RunUntil(const std::function<bool()>& condition);
  bool RunUntilOutcomes(size_t count);
  // Decodes rows 0 to count - 1, where row n holds sample n mod samples. Submits lost rows again.
  bool DecodeAll(uint64_t count);

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const Outcome& OutcomeOf(uint64_t id) const;
  WorkerView Worker(size_t number = 0);
  // Submits, and waits until the worker has the sample in hand.
  bool SubmitInHand(uint64_t row, uint64_t sample);

  void Destroy() { supervisor_.reset(); }

 private:
  void Step();

  MemoryDataset& dataset_;
  uint32_t user_;
  decode::Spec spec_;
  decode::SampleLimits limits_;
  posix::Fd memory_;
  posix::Mapping mapping_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<Outcome> outcomes_;
};

}  // namespace penstock::workers
