// The canary: before the daemon reports that it is ready, one small batch takes the whole path of a
// trainer's batch (a reader, a worker, a slot of the pool, an announcement, sent descriptors). The
// daemon's own session asks for it; it counts towards no limit and appears in no list.
// **Thread safety**: the runner's thread, except for came_through and Again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/memory.h"
#include "common/shm/control_page.h"
#include "server/feed/engine/engine.h"

namespace penstock::app {

class Canary {
 public:
  // The peer to which the engine sends descriptors; the doorway never uses this number.
  static constexpr uint64_t kPeer = UINT64_MAX;

  // Receives what the engine sends to kPeer, like a client.
  absl::Status Receive(const void* message, size_t bytes, const std::vector<int>& fds);
  // One step: opens the session, takes its batch when it is there, closes it. If the batch is wrong
  // or the session fails, logs a warning and tries again later. If no worker has run for two
  // seconds, a batch must come through again.
  void Step(feed::Engine& engine, base::TimePoint now);

  // Any thread: whether a batch has come through since Again was called; if not, why.
  bool came_through() const { return came_through_.load(); }
  std::string Reason() const;
  // Any thread: requires another batch.
  void Again() { came_through_.store(false); }

 private:
  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(memory_.data()); }
  absl::Status Open(feed::Engine& engine, base::TimePoint now);
  // Nullopt: no batch yet.
  std::optional<absl::Status> Look() const;
  absl::Status Judge(const shm::ControlEntry& entry) const;
  void End(feed::Engine& engine, base::TimePoint now);
  // What went wrong with its sample, if anything; else `why`.
  absl::Status Blame(const absl::Status& why) const;
  void Complain(const absl::Status& why, base::TimePoint now);

  std::atomic<bool> came_through_ = false;
  std::shared_ptr<feed::DatasetState> dataset_;  // used by the session and its feed
  std::optional<session::Grant> session_;
  posix::Mapping memory_;  // of the session
  std::map<uint32_t, posix::Mapping> segments_;
  uint64_t opened_ = 0;  // number of sessions
  base::TimePoint opened_at_{}, try_at_{}, worker_ran_at_{};
  base::BackOff back_off_{{.first = std::chrono::seconds(1), .longest = std::chrono::seconds(30)}};
  bool complained_ = false;  // a warning that this session is slow has been logged
  mutable base::Mutex mutex_;
  std::string trouble_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
