// The canary: one small batch that goes all the way that a trainer's goes (a reader, a worker that
// decodes, a slot of the pool, an announcement, descriptors sent), before the daemon says that it
// is ready. A session of the daemon itself, which no limit counts and no list shows. All but the
// two questions: the runner's thread.
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
  // Whom the engine sends descriptors to: no peer of the doorway has this number.
  static constexpr uint64_t kPeer = UINT64_MAX;

  // What the engine sends to kPeer, as a client receives it.
  absl::Status Receive(const void* message, size_t bytes, const std::vector<int>& fds);
  // One look: opens the session, takes its batch once that is there, closes it. A batch that is
  // wrong, or a session that fails, is a warning, and there is another one a while later. Workers
  // that were all gone have to show anew that batches come through.
  void Step(feed::Engine& engine, base::TimePoint now);

  // Any thread: whether a batch came through since Again was called, and if not, why, in words.
  bool came_through() const { return came_through_.load(); }
  std::string Reason() const;
  // Any thread: what was true is not any more.
  void Again() { came_through_.store(false); }

 private:
  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(memory_.data()); }
  absl::Status Open(feed::Engine& engine, base::TimePoint now);
  // Nothing: no batch yet.
  std::optional<absl::Status> Look() const;
  absl::Status Judge(const shm::ControlEntry& entry) const;
  void End(feed::Engine& engine, base::TimePoint now);
  // What went wrong with its sample, where something did; else `why`.
  absl::Status Blame(const absl::Status& why) const;
  void Complain(const absl::Status& why, base::TimePoint now);

  std::atomic<bool> came_through_ = false;
  std::shared_ptr<feed::DatasetState> dataset_;  // the session's; also its feed's
  std::optional<session::Grant> session_;
  posix::Mapping memory_;  // the session's
  std::map<uint32_t, posix::Mapping> segments_;
  uint64_t opened_ = 0;  // so many sessions
  base::TimePoint opened_at_{}, try_at_{};
  base::BackOff back_off_{{.first = std::chrono::seconds(1), .longest = std::chrono::seconds(30)}};
  bool complained_ = false;  // of this session's taking its time
  mutable base::Mutex mutex_;
  std::string trouble_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
