// The daemon's side of a host's page (common/shm/python_host.h): asks for workers and reads what
// became of them.
//
// The host can write anything at any time. What it wrote is copied, then checked; the copy alone is
// used. Impossible values are an error, after which the host should be sent away.
//
// **Ownership**: one for each host, never reused. **Thread safety**: one thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/process.h"
#include "common/shm/python_host.h"

namespace penstock::pyworkers {

// What a host did at a place; possible values.
struct PlaceReport {
  uint32_t starts = 0;  // processes forked so far, at most as many as were asked for
  uint32_t ended = 0;   // the last start that was reaped: `starts`, or one less while it lives
  pid_t pid = 0;        // of the last one forked; in the host's PID namespace, so only for display
};

// How a worker ended, as its host says.
struct EndReport {
  std::optional<posix::Exit> exit;  // unset: not a status that waitpid(2) reports
  std::string words;                // what it wrote at its end, printable, line ends as '|'
};

class HostPage {
 public:
  static absl::StatusOr<HostPage> Make();

  // What the host gets, in this order.
  const posix::Fd& memory() const { return memory_; }
  static constexpr uint64_t kBytes = sizeof(shm::PythonHostPage);
  const posix::Fd& event_to_host() const { return to_host_.receiver; }
  const posix::Fd& event_to_daemon() const { return to_daemon_; }

  // Asks the host to fork start `start` of a place, or to kill it, which it is
  // told once. **Requires**: place <
  // kMaxPythonWorkers; starts are asked for one after the other.
  void WantStart(uint32_t place, uint32_t start);
  void Kill(uint32_t place, uint32_t start);

  // Resets event_to_daemon. Call it before Read, so that nothing is missed.
  void DrainEvent() { posix::Drain(to_daemon_); }

  // **Errors**: DataLoss: what the host wrote is impossible.
  absl::StatusOr<PlaceReport> Read(uint32_t place);
  // How the last start that was reaped ended. **Requires**: Read found that it has ended, and the
  // next one is not asked for yet.
  EndReport ReadEnd(uint32_t place) const;
  // Why the host cannot go on, printable; nullopt while it can.
  std::optional<std::string> Failure() const;

 private:
  HostPage() = default;
  shm::PythonHostPage& page() const {
    return *reinterpret_cast<shm::PythonHostPage*>(mapping_.data());
  }
  shm::PythonPlace& place(uint32_t place) const;

  // What we asked for and last saw at a place, kept here because the host can write to its page.
  struct KnownPlace {
    uint32_t wanted = 0, starts = 0, ended = 0, killed = 0;
  };

  posix::Fd memory_;
  posix::Mapping mapping_;
  posix::Notifier to_host_;
  posix::Fd to_daemon_;
  std::array<KnownPlace, shm::kMaxPythonWorkers> known_;
};

}  // namespace penstock::pyworkers
